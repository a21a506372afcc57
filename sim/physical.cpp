#include "sim/physical.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sim/call.hpp"
#include "sim/device.hpp"
#include "sim/memory.hpp"

namespace dunnage::sim {
namespace {

// The file's name ends with the ordinal of the device.
constexpr const char* name = "dunnage-simulated-memory-";

void check(const CUmemAllocationProp& p) {
  require(p.type == CU_MEM_ALLOCATION_TYPE_PINNED && p.location.type == CU_MEM_LOCATION_TYPE_DEVICE,
          CUDA_ERROR_INVALID_VALUE);
  require(p.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
              p.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
          CUDA_ERROR_NOT_SUPPORTED);
  device_of(p.location.id);
}

// How many bytes of a device are in use as physical memory. The memory is freed with its last
// handle or mapping.
std::size_t& taken(CUdevice device) {
  static std::map<CUdevice, std::size_t> all;
  return all[device];
}

CUmemGenericAllocationHandle give_handle(const std::shared_ptr<Physical>& physical) {
  if (!physical->handle) physical->handle = new_handle();
  ++physical->references;
  driver().physical[physical->handle] = physical;
  return physical->handle;
}

// The device in the name of such a file. Throws if the file is not one of them.
CUdevice device_in_name(int file) {
  char target[128] = "";
  const auto length = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), target, sizeof target - 1);
  const auto start = std::string("/memfd:") + name;
  require(length > 0 && std::strncmp(target, start.c_str(), start.size()) == 0, CUDA_ERROR_INVALID_VALUE);
  return std::atoi(target + start.size());
}

}  // namespace

Physical::~Physical() {
  if (!imported) taken(properties.location.id) -= size;
}

std::shared_ptr<Physical> physical_of(CUmemGenericAllocationHandle handle) {
  const auto found = driver().physical.find(handle);
  require(found != driver().physical.end(), CUDA_ERROR_INVALID_VALUE);
  return found->second;
}

}  // namespace dunnage::sim

using namespace dunnage::sim;
namespace base = dunnage::base;

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
    const auto device = properties->location.id;
    require(size <= driver().settings.memory && taken(device) <= driver().settings.memory - size,
            CUDA_ERROR_OUT_OF_MEMORY);
    base::Descriptor file(memfd_create((name + std::to_string(device)).c_str(), MFD_CLOEXEC));
    require(file && ftruncate(file.get(), static_cast<off_t>(size)) == 0, CUDA_ERROR_OPERATING_SYSTEM);
    const auto made = std::make_shared<Physical>();
    made->file = std::move(file);
    made->size = size;
    made->properties = *properties;
    taken(device) += size;
    *handle = give_handle(made);
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
    const auto number = static_cast<int>(reinterpret_cast<std::intptr_t>(file));
    const auto made = std::make_shared<Physical>();
    made->imported = true;
    made->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    made->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_in_name(number)};
    device_of(made->properties.location.id);
    struct stat status;
    made->file = base::Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 0));
    require(made->file && fstat(made->file.get(), &status) == 0, CUDA_ERROR_INVALID_VALUE);
    made->size = static_cast<std::size_t>(status.st_size);
    *handle = give_handle(made);
  });
}
