#include "device/sim/place.hpp"

#include "device/sim/error.hpp"
#include "device/sim/memory.hpp"
#include "device/sim/space.hpp"

namespace dunnage::sim {

Place place_of(CUdeviceptr address, std::size_t bytes, Must must) {
  require(address != 0, CUDA_ERROR_INVALID_VALUE);
  auto* const memory = static_cast<char*>(Space::translate(reinterpret_cast<void*>(address)));
  const auto found = find_allocation(address);
  if (!found) {
    require(must == Must::exist && !Space::holds(reinterpret_cast<void*>(address)), CUDA_ERROR_INVALID_VALUE);
    return {memory, Where::pageable};
  }
  require(bytes <= found->size - (address - found->address), CUDA_ERROR_INVALID_VALUE);
  const bool pinned = found->kind == Kind::pinned || found->kind == Kind::registered;
  return {memory, pinned ? Where::pinned : Where::device, found->kind == Kind::pool ? found->device : -1};
}

}  // namespace dunnage::sim
