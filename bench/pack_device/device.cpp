#include "device.hpp"

/// The compiled kernels.cu (image.S).
extern "C" const char bench_pack_device_image[];

namespace bench {

Device::Device() {
  int count = 0;
  const CUresult result = driver().cuInit(0);
  if (result != CUDA_SUCCESS || driver().cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
    throw NoDevice("CUDA's driver finds no GPU");
  CUdevice device;
  BENCH_CU(cuDeviceGet, &device, 0);
  char text[256] = {};
  BENCH_CU(cuDeviceGetName, text, sizeof text - 1, device);
  name_ = text;
  int processors = 0;
  BENCH_CU(cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  processors_ = static_cast<unsigned>(std::max(processors, 1));
  CUcontext context;
  BENCH_CU(cuDevicePrimaryCtxRetain, &context, device);
  BENCH_CU(cuCtxSetCurrent, context);
  BENCH_CU(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
  BENCH_CU(cuModuleLoadData, &module_, bench_pack_device_image);
}

Kernel Device::kernel(const char* name) const {
  CUfunction function = nullptr;
  return driver().cuModuleGetFunction(&function, module_, name) == CUDA_SUCCESS ? Kernel(function) : Kernel();
}

}  // namespace bench
