#include "sim/physical.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/device.hpp"
#include "sim/driver.hpp"
#include "sim/error.hpp"

namespace dunnage::sim {
namespace {

// The file's name ends with the ordinal of the device.
constexpr const char* name = "dunnage-simulated-memory-";

// How many bytes of a device are in use as physical memory. The memory is freed with its last
// handle or mapping.
std::size_t& taken(CUdevice device) {
  static std::map<CUdevice, std::size_t> all;
  return all[device];
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

std::shared_ptr<Physical> make_physical(const CUmemAllocationProp& properties, std::size_t size) {
  const auto device = properties.location.id;
  require(size <= driver().settings.memory && taken(device) <= driver().settings.memory - size,
          CUDA_ERROR_OUT_OF_MEMORY);
  base::Descriptor file(memfd_create((name + std::to_string(device)).c_str(), MFD_CLOEXEC));
  require(file && ftruncate(file.get(), static_cast<off_t>(size)) == 0, CUDA_ERROR_OPERATING_SYSTEM);
  auto made = std::make_shared<Physical>();
  made->file = std::move(file);
  made->size = size;
  made->properties = properties;
  taken(device) += size;
  return made;
}

std::shared_ptr<Physical> import_physical(int file) {
  auto made = std::make_shared<Physical>();
  made->imported = true;
  made->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_in_name(file)};
  device_of(made->properties.location.id);
  struct stat status;
  made->file = base::Descriptor(fcntl(file, F_DUPFD_CLOEXEC, 0));
  require(made->file && fstat(made->file.get(), &status) == 0, CUDA_ERROR_INVALID_VALUE);
  made->size = static_cast<std::size_t>(status.st_size);
  return made;
}

CUmemGenericAllocationHandle give_handle(const std::shared_ptr<Physical>& physical) {
  if (!physical->handle) physical->handle = new_handle();
  ++physical->references;
  driver().physical[physical->handle] = physical;
  return physical->handle;
}

std::shared_ptr<Physical> physical_of(CUmemGenericAllocationHandle handle) {
  const auto found = driver().physical.find(handle);
  require(found != driver().physical.end(), CUDA_ERROR_INVALID_VALUE);
  return found->second;
}

}  // namespace dunnage::sim
