#include "device/overlapping_launches.hpp"

#include "device/kernel_graphs.hpp"

namespace dunnage::device {

void OverlappingLaunches::look(CUfunction kernel) {
  constexpr int captures_such_launches = 12030;  // the first version of CUDA
  constexpr int waits_by_itself = 90;            // kernels for older GPUs cannot
  int version = 0, made_for = 0;
  can_ = KernelGraphs::wanted(driver_) && driver_.cuDriverGetVersion && driver_.cuFuncGetAttribute &&
         driver_.cuLaunchKernelEx && driver_.cuDriverGetVersion(&version) == CUDA_SUCCESS &&
         version >= captures_such_launches &&
         driver_.cuFuncGetAttribute(&made_for, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel) == CUDA_SUCCESS &&
         made_for >= waits_by_itself;
}

bool OverlappingLaunches::possible(CUstream stream) const {
  // The default streams have rules of their own.
  return can_ && stream && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

void OverlappingLaunches::launch(CUfunction kernel, std::uint32_t blocks, std::uint32_t threads, CUstream stream,
                                 void* parameter) const {
  CUlaunchAttribute overlapping{};
  overlapping.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  overlapping.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config{blocks, 1, 1, threads, 1, 1, 0, stream, &overlapping, 1};
  void* parameters[] = {parameter};
  check(driver_, driver_.cuLaunchKernelEx(&config, kernel, parameters, nullptr), "cuLaunchKernelEx");
}

}  // namespace dunnage::device
