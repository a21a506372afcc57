// Virtual memory: reserved addresses, and physical memory that is mapped there. A mapping is always
// a whole allocation. Nobody may touch a mapping before a device has been given access.
#include "sim/api/call.hpp"
#include "sim/device.hpp"
#include "sim/memory.hpp"
#include "sim/physical.hpp"

namespace dunnage::sim {
namespace {

// The reserved range that contains these bytes. Throws if there is none.
std::pair<const CUdeviceptr, std::size_t>& range_of(CUdeviceptr address, std::size_t size) {
  auto& ranges = driver().ranges;
  const auto after = ranges.upper_bound(address);
  require(after != ranges.begin() && size > 0, CUDA_ERROR_INVALID_VALUE);
  auto& found = *std::prev(after);
  require(address - found.first < found.second && size <= found.second - (address - found.first),
          CUDA_ERROR_INVALID_VALUE);
  return found;
}

bool anything_in(CUdeviceptr address, std::size_t size) {
  const auto next = driver().allocations.lower_bound(address);
  return find_allocation(address) || (next != driver().allocations.end() && next->first - address < size);
}

// The mappings that these bytes consist of. Throws if they are not whole mappings without a gap.
std::vector<std::shared_ptr<Allocation>> mappings_of(CUdeviceptr address, std::size_t size) {
  range_of(address, size);
  std::vector<std::shared_ptr<Allocation>> all;
  for (auto at = address; at < address + size; at += all.back()->size) {
    const auto found = find_allocation(at);
    require(found && found->kind == Kind::mapped && found->address == at && found->size <= address + size - at,
            CUDA_ERROR_INVALID_VALUE);
    all.push_back(found);
  }
  return all;
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
  return call({"cuMemAddressReserve", Class::other, Needs::driver}, [&](Call&) {
    require(address && size > 0 && size % granularity == 0 && (alignment & (alignment - 1)) == 0 && flags == 0,
            CUDA_ERROR_INVALID_VALUE);
    const auto made = driver().space.reserve_range(size, alignment > granularity ? alignment : granularity);
    require(made.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
    driver().ranges.emplace(*made, size);
    *address = *made;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  return call({"cuMemAddressFree", Class::other, Needs::driver}, [&](Call&) {
    const auto [start, whole] = range_of(address, size);
    require(start == address && whole == size && !anything_in(address, size), CUDA_ERROR_INVALID_VALUE);
    driver().ranges.erase(address);
    driver().space.give_range(address, size);
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return call({"cuMemMap", Class::other, Needs::driver}, [&](Call&) {
    const auto physical = physical_of(handle);
    const auto [start, whole] = range_of(address, size);
    require(flags == 0 && offset == 0 && address % granularity == 0 && size % granularity == 0 &&
                !anything_in(address, size),
            CUDA_ERROR_INVALID_VALUE);
    require(size == physical->size, CUDA_ERROR_NOT_SUPPORTED);
    Allocation made{Kind::mapped, address, size, physical->properties.location.id};
    made.physical = physical;
    made.range = start;
    made.range_size = whole;
    made.devices = 0;
    add_allocation(std::move(made));
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  return call({"cuMemUnmap", Class::other, Needs::driver}, [&](Call&) {
    for (const auto& mapping : mappings_of(address, size)) release(*mapping);
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* access, size_t count) {
  return call({"cuMemSetAccess", Class::other, Needs::driver}, [&](Call&) {
    require(access && count > 0, CUDA_ERROR_INVALID_VALUE);
    const auto mappings = mappings_of(address, size);
    for (std::size_t i = 0; i < count; ++i) {
      require(access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
      require(access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
              CUDA_ERROR_NOT_SUPPORTED);
      device_of(access[i].location.id);
    }
    for (const auto& mapping : mappings) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto bit = std::uint64_t{1} << access[i].location.id;
        access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? mapping->devices &= ~bit : mapping->devices |= bit;
      }
      if (mapping->devices == 0)
        Space::hide(mapping->address, mapping->size);
      else
        require(Space::show(mapping->address, mapping->physical->file.get(), mapping->size), CUDA_ERROR_MAP_FAILED);
    }
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return call({"cuMemGetAccess", Class::other, Needs::driver}, [&](Call&) {
    const auto found = find_allocation(address);
    require(found && found->kind == Kind::mapped && given(location)->type == CU_MEM_LOCATION_TYPE_DEVICE,
            CUDA_ERROR_INVALID_VALUE);
    device_of(location->id);
    *given(flags) =
        found->devices >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}
