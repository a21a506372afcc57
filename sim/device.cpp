#include <algorithm>
#include <cstring>
#include <string>

#include "sim/call.hpp"
#include "sim/device.hpp"

namespace dunnage::sim {

Device& device_of(CUdevice device) {
  auto& all = driver().devices;
  require(device >= 0 && static_cast<std::size_t>(device) < all.size(), CUDA_ERROR_INVALID_DEVICE);
  return all[static_cast<std::size_t>(device)];
}

namespace {

// The values of an H200, as far as programs decide by them. 0 for features that the simulator
// lacks.
int attribute_of(CUdevice device, CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return most_shared_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1980000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 3201000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 6144;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 60 << 20;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 2147483647;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return 16 + device;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: return 1;
    default: return 0;
  }
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuDeviceGetCount(int* count) {
  return call({"cuDeviceGetCount", Class::other, Needs::driver},
              [&](Call&) { *given(count) = static_cast<int>(driver().devices.size()); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call({"cuDeviceGet", Class::other, Needs::driver}, [&](Call&) {
    device_of(ordinal);
    *given(device) = ordinal;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call({"cuDeviceGetName", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    require(length > 0, CUDA_ERROR_INVALID_VALUE);
    const std::string text = "Dunnage simulated device " + std::to_string(device);
    given(name)[text.copy(name, static_cast<std::size_t>(length) - 1)] = '\0';
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call({"cuDeviceGetAttribute", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    require(attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *given(value) = attribute_of(device, attribute);
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return call({"cuDeviceTotalMem", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    *given(bytes) = driver().settings.memory;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call({"cuDeviceGetUuid", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    std::memcpy(given(uuid)->bytes, "dunnage sim dev", sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(device);
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call({"cuDeviceCanAccessPeer", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    device_of(peer);
    *given(can) = device != peer;
  });
}
