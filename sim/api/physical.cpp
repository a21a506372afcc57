// Physical memory for virtual addresses, and its handles for other processes.
#include <cstring>

#include <fcntl.h>

#include "sim/api/call.hpp"
#include "sim/device.hpp"
#include "sim/memory.hpp"
#include "sim/physical.hpp"

namespace dunnage::sim {
namespace {

void check(const CUmemAllocationProp& p) {
  require(p.type == CU_MEM_ALLOCATION_TYPE_PINNED && p.location.type == CU_MEM_LOCATION_TYPE_DEVICE,
          CUDA_ERROR_INVALID_VALUE);
  require(p.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
              p.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
          CUDA_ERROR_NOT_SUPPORTED);
  device_of(p.location.id);
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuMemGetAllocationGranularity(size_t* unit, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return call({"cuMemGetAllocationGranularity", Class::other, Needs::driver}, [&](Call&) {
    check(*given(properties));
    *given(unit) = granularity;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return call({"cuMemCreate", Class::alloc, Needs::driver}, [&](Call&) {
    check(*given(properties));
    require(handle && size > 0 && size % granularity == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    *handle = give_handle(make_physical(*properties, size));
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call({"cuMemRelease", Class::other, Needs::driver}, [&](Call&) {
    if (--physical_of(handle)->references == 0) driver().physical.erase(handle);
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return call({"cuMemRetainAllocationHandle", Class::other, Needs::driver}, [&](Call&) {
    const auto found = find_allocation(reinterpret_cast<CUdeviceptr>(address));
    require(found && found->kind == Kind::mapped, CUDA_ERROR_INVALID_VALUE);
    *given(handle) = give_handle(found->physical);
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return call({"cuMemGetAllocationPropertiesFromHandle", Class::other, Needs::driver},
              [&](Call&) { *given(properties) = physical_of(handle)->properties; });
}

CUresult cuMemExportToShareableHandle(void* file, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return call({"cuMemExportToShareableHandle", Class::ipc, Needs::driver}, [&](Call&) {
    const auto physical = physical_of(handle);
    require(file && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    require(physical->properties.requestedHandleTypes == type && !physical->imported, CUDA_ERROR_INVALID_VALUE);
    const int made = fcntl(physical->file.get(), F_DUPFD_CLOEXEC, 0);
    require(made >= 0, CUDA_ERROR_OPERATING_SYSTEM);
    std::memcpy(file, &made, sizeof made);
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* file,
                                        CUmemAllocationHandleType type) {
  return call({"cuMemImportFromShareableHandle", Class::ipc, Needs::driver}, [&](Call&) {
    require(handle && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    *handle = give_handle(import_physical(static_cast<int>(reinterpret_cast<std::intptr_t>(file))));
  });
}
