// A driver that knows one range of device memory, and has no other function that works.
#include <cstdint>

#include "device/driver.hpp"

namespace {

std::uintptr_t range_begin = 0, range_size = 0;

}  // namespace

extern "C" {

__attribute__((used, visibility("default"))) CUresult dunnage_range_nothing() { return CUDA_ERROR_NOT_SUPPORTED; }

__attribute__((visibility("default"))) void dunnage_range_set(void* begin, std::size_t size) {
  range_begin = reinterpret_cast<std::uintptr_t>(begin);
  range_size = size;
}

__attribute__((used, visibility("default"))) CUresult dunnage_range_attributes(unsigned count,
                                                                               CUpointer_attribute* attributes,
                                                                               void** data, CUdeviceptr address) {
  const bool known = address - range_begin < range_size;
  for (unsigned i = 0; i < count; ++i) switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(data[i]) = known ? CU_MEMORYTYPE_DEVICE : 0; break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(data[i]) = 0; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(data[i]) = 0; break;
      case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext*>(data[i]) = nullptr; break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(data[i]) = range_begin; break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(data[i]) = range_size; break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long*>(data[i]) = known ? 1 : 0; break;
      default: return CUDA_ERROR_NOT_SUPPORTED;
    }
  return CUDA_SUCCESS;
}

}  // extern "C"

// Every function that Dunnage requires is one of the two above, under the driver's name.
#define RANGE_TEXT_OF(name) #name
#define RANGE_TEXT(name) RANGE_TEXT_OF(name)
#define RANGE(name)                                                                                           \
  __asm__(".ifnc " RANGE_TEXT(name) ",cuPointerGetAttributes\n.globl " RANGE_TEXT(name) "\n.set " RANGE_TEXT( \
      name) ", dunnage_range_nothing\n.endif\n");
DUNNAGE_DRIVER_FUNCTIONS(RANGE)
__asm__(".globl cuPointerGetAttributes\n.set cuPointerGetAttributes, dunnage_range_attributes\n");
