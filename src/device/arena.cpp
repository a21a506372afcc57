#include "device/arena.hpp"

#include <algorithm>
#include <bit>

namespace dunnage::device {

std::shared_ptr<const Arena::Block> Arena::take(std::uint64_t size, std::uint64_t most, std::int32_t owner) {
  if (size > most) return nullptr;
  size = std::bit_ceil(std::max(size, smallest));
  const int shelf = std::bit_width(size) - 1;
  const std::lock_guard lock(mutex_);
  if (released_) return nullptr;
  Block block;
  if (auto& idle = shelves_[static_cast<std::size_t>(shelf)]; !idle.empty()) {
    block = idle.back();
    idle.pop_back();
  } else {
    for (auto& other : shelves_)  // what is idle makes room
      while (total_ + size > most && !other.empty()) {
        driver_.cuMemFree(other.back().address);
        total_ -= other.back().exported.size;
        other.pop_back();
      }
    if (!exports_ || total_ + size > most || driver_.cuMemAlloc(&block.address, size) != CUDA_SUCCESS) return nullptr;
    const auto exported = export_of(driver_, known_place(driver_, reinterpret_cast<const void*>(block.address)), owner);
    if (!exported) {
      exports_ = false;  // nor will any other be
      driver_.cuMemFree(block.address);
      return nullptr;
    }
    block.exported = *exported;
    total_ += block.exported.size;
  }
  block.exported.owner = owner;  // who had it last may have had no use for that
  auto* taken = new Block(block);
  return {taken, [arena = shared_from_this(), shelf](const Block* b) {
            arena->give_back(*b, shelf);
            delete b;
          }};
}

void Arena::give_back(const Block& block, int shelf) {
  const std::lock_guard lock(mutex_);
  if (!released_) shelves_[static_cast<std::size_t>(shelf)].push_back(block);
}

void Arena::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  for (auto& shelf : shelves_) {
    for (const auto& block : shelf) driver_.cuMemFree(block.address);
    shelf.clear();
  }
}

}  // namespace dunnage::device
