#include "sim/memory.hpp"

#include <cstdlib>

#include "sim/context.hpp"
#include "sim/driver.hpp"

namespace dunnage::sim {

std::shared_ptr<Allocation> find_allocation(CUdeviceptr address) {
  const auto& all = driver().allocations;
  const auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  const auto& found = std::prev(after)->second;
  return address - found->address < found->size ? found : nullptr;
}

std::shared_ptr<Allocation> add_allocation(const Context& context, Kind kind, CUdeviceptr address, std::size_t size) {
  Allocation made{kind, address, size, context.device, context.id, context.handle};
  if (kind == Kind::pool) made.devices = std::uint64_t{1} << context.device;
  return add_allocation(std::move(made));
}

std::shared_ptr<Allocation> add_allocation(Allocation allocation) {
  static unsigned long long last_id = 0;
  allocation.id = ++last_id;
  auto made = std::make_shared<Allocation>(std::move(allocation));
  driver().allocations[made->address] = made;
  return made;
}

void release(const Allocation& allocation) {
  auto& d = driver();
  switch (allocation.kind) {
    case Kind::device:
    case Kind::pool: d.space.give(allocation.device, allocation.address, allocation.size); break;
    case Kind::foreign: d.space.unmap_foreign(allocation.address, allocation.size); break;
    case Kind::managed:
    case Kind::pinned: std::free(reinterpret_cast<void*>(allocation.address)); break;
    case Kind::mapped: Space::hide(allocation.address, allocation.size); break;
    case Kind::registered: break;
  }
  d.allocations.erase(allocation.address);
}

}  // namespace dunnage::sim
