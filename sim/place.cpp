#include "sim/place.hpp"

#include "sim/error.hpp"
#include "sim/space.hpp"

namespace dunnage::sim {

Place place_of(CUdeviceptr address, std::size_t bytes, Must must) {
  require(address != 0, CUDA_ERROR_INVALID_VALUE);
  auto* const memory = static_cast<char*>(Space::translate(reinterpret_cast<void*>(address)));
  const auto found = find_allocation(address);
  if (!found) {
    require(must == Must::exist && !Space::holds(reinterpret_cast<void*>(address)), CUDA_ERROR_INVALID_VALUE);
    return {memory, Where::pageable};
  }
  auto devices = found->devices;
  auto end = found->address + found->size;
  for (auto last = found; end - address < bytes; end = last->address + last->size) {
    last = last->kind == Kind::mapped ? find_allocation(end) : nullptr;
    require(last && last->kind == Kind::mapped, CUDA_ERROR_INVALID_VALUE);
    devices &= last->devices;
  }
  require(devices != 0, CUDA_ERROR_INVALID_VALUE);
  const bool pinned = found->kind == Kind::pinned || found->kind == Kind::registered;
  return {memory, pinned ? Where::pinned : Where::device, devices};
}

}  // namespace dunnage::sim
