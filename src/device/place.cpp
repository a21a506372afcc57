#include "device/place.hpp"

#include <iterator>

namespace dunnage::device {

Place place_of(const Driver& driver, const void* address) {
  Place place;
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&type, &managed, &ordinal, &place.context, &start, &size};
  static_assert(std::size(attributes) == std::size(values));
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  place.address = at;
  if (driver.cuPointerGetAttributes(std::size(attributes), attributes, values, static_cast<CUdeviceptr>(at)) != CUDA_SUCCESS || type == 0) {
    place.context = nullptr;
    return place;
  }
  place.memory = managed ? Memory::managed : type == CU_MEMORYTYPE_HOST ? Memory::pinned : Memory::device;
  place.device = ordinal;
  if (place.memory == Memory::pinned) {  // registered memory may have another address on the device
    CUdeviceptr there = 0;
    CUpointer_attribute attribute[] = {CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void* value[] = {&there};
    if (driver.cuPointerGetAttributes(1, attribute, value, static_cast<CUdeviceptr>(at)) == CUDA_SUCCESS && there)
      place.address = static_cast<std::uintptr_t>(there);
  }
  place.begin = static_cast<std::uintptr_t>(start);
  place.end = place.begin + size;
  return place;
}

Scope::Scope(const Driver& driver, CUcontext context) : driver_(driver) {
  CUcontext current = nullptr;
  check(driver, driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current != context) {
    check(driver, driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
    pushed_ = true;
  }
  driver.cuThreadExchangeStreamCaptureMode(&mode_);
}

Scope::~Scope() {
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  CUcontext popped;
  if (pushed_) driver_.cuCtxPopCurrent(&popped);
}

CUcontext context_for(const Driver& driver, const Place& place) {
  if (place.context) return place.context;
  CUcontext current = nullptr;
  CUdevice device = 0;
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current && driver.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
      (place.device < 0 || device == place.device))
    return current;
  // Devices are numbered by their ordinals. One that is not active must not be made so here.
  unsigned flags = 0;
  int active = 0;
  CUcontext primary = nullptr;
  const auto ordinal = static_cast<CUdevice>(place.device < 0 ? 0 : place.device);
  if (driver.cuDevicePrimaryCtxGetState(ordinal, &flags, &active) != CUDA_SUCCESS || !active)
    throw Error(CUDA_ERROR_INVALID_CONTEXT, "no active CUDA context for the buffer's device");
  check(driver, driver.cuDevicePrimaryCtxRetain(&primary, ordinal), "cuDevicePrimaryCtxRetain");
  driver.cuDevicePrimaryCtxRelease(ordinal);  // it is active without us
  return primary;
}

}  // namespace dunnage::device
