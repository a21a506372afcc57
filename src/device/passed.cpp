#include "device/passed.hpp"

#include <algorithm>
#include <iterator>

namespace dunnage::device {

bool passes_memory(const Driver& d) {
  return d.cuMemRetainAllocationHandle && d.cuMemExportToShareableHandle && d.cuMemImportFromShareableHandle &&
         d.cuMemAddressReserve && d.cuMemAddressFree && d.cuMemMap && d.cuMemUnmap && d.cuMemSetAccess &&
         d.cuMemRelease;
}

std::optional<Exported> mapping_of(const Driver& driver, const Place& place, std::int32_t owner) {
  if (place.memory != Memory::device || !passes_memory(driver)) return std::nullopt;
  // place.begin and place.end are the whole reserved range, which may hold several mappings. A
  // mapping is always one whole allocation, and gets a new id if the same allocation is mapped
  // again.
  unsigned long long id = 0, types = 0;
  CUdeviceptr begin = 0;
  std::size_t size = 0;
  void* pool = nullptr;  // a descriptor of memory from a pool would be that of the whole pool
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                      CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
  void* values[] = {&id, &types, &pool, &begin, &size};
  static_assert(std::size(attributes) == std::size(values));
  if (driver.cuPointerGetAttributes(std::size(attributes), attributes, values,
                                    static_cast<CUdeviceptr>(place.address)) != CUDA_SUCCESS ||
      id == 0 || pool || !(types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
    return std::nullopt;
  Exported exported{};
  exported.begin = begin;
  exported.size = size;
  exported.id = id;
  exported.device = place.device;
  exported.owner = owner;
  exported.way = Exported::by_descriptor;
  return exported;
}

base::Descriptor descriptor_of(const Driver& driver, const Exported& exported) {
  CUmemGenericAllocationHandle handle = 0;
  if (driver.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(exported.begin)) != CUDA_SUCCESS) return {};
  int file = -1;
  const auto result = driver.cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  driver.cuMemRelease(handle);
  return base::Descriptor(result == CUDA_SUCCESS ? file : -1);
}

Passed::Passed(const Driver& driver, const base::Descriptor& descriptor) : driver_(driver) {
  if (!passes_memory(driver))
    throw Error(CUDA_ERROR_NOT_SUPPORTED, "cuMemImportFromShareableHandle: not in this driver");
  auto* file = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor.get()));
  check(driver, driver.cuMemImportFromShareableHandle(&handle_, file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "cuMemImportFromShareableHandle");
}

Passed::~Passed() { driver_.cuMemRelease(handle_); }

CUdeviceptr Passed::map(std::uint64_t size) const {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;  // some drivers accept no other flag for devices
  check(driver_, driver_.cuCtxGetDevice(&access.location.id), "cuCtxGetDevice");
  CUdeviceptr address = 0;
  check(driver_, driver_.cuMemAddressReserve(&address, size, 0, 0, 0), "cuMemAddressReserve");
  if (const auto result = driver_.cuMemMap(address, size, 0, handle_, 0); result != CUDA_SUCCESS) {
    driver_.cuMemAddressFree(address, size);
    throw Error(driver_, result, "cuMemMap");
  }
  if (const auto result = driver_.cuMemSetAccess(address, size, &access, 1); result != CUDA_SUCCESS) {
    unmap(driver_, address, size);
    throw Error(driver_, result, "cuMemSetAccess");
  }
  return address;
}

void Passed::unmap(const Driver& driver, CUdeviceptr address, std::uint64_t size) {
  if (driver.cuMemUnmap(address, size) == CUDA_SUCCESS) driver.cuMemAddressFree(address, size);
}

void AllPassed::put(std::uint32_t place, const Exported& exported, std::shared_ptr<const Passed> passed) {
  const std::lock_guard lock(mutex_);
  known_[{exported.owner, place}] = {exported, std::move(passed)};
}

std::optional<Exported> AllPassed::remove(std::int32_t owner, std::uint32_t place) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.extract({owner, place});
  return known ? std::optional(known.mapped().exported) : std::nullopt;
}

std::shared_ptr<const Passed> AllPassed::find(const Exported& exported) {
  const std::lock_guard lock(mutex_);
  for (const auto& [where, known] : known_)
    if (where.first == exported.owner && known.exported.id == exported.id && known.exported.begin == exported.begin)
      return known.passed;
  return nullptr;
}

void AllPassed::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

AllPassed& all_passed() {
  static auto* all = new AllPassed;  // never destroyed, because destructors that run at exit may still call us
  return *all;
}

}  // namespace dunnage::device
