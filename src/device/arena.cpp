#include "device/arena.hpp"

namespace dunnage::device {

std::shared_ptr<const Arena::Block> Arena::take(std::uint64_t size, std::uint64_t most, std::int32_t owner) {
  auto block = pool_.take(size, most, owner);
  if (!block) return nullptr;
  block.exported.owner = owner;  // an earlier user may have asked for another one
  return {new Block(block), [arena = shared_from_this(), size](const Block* taken) {
            arena->pool_.give(*taken, size);
            delete taken;
          }};
}

Arena::Block Arena::Source::make(std::size_t bytes, std::int32_t owner) {
  Block block;
  if (!exports || driver.cuMemAlloc(&block.address, bytes) != CUDA_SUCCESS) return {};
  const auto exported = export_of(driver, known_place(driver, reinterpret_cast<const void*>(block.address)), owner);
  if (!exported) {
    exports = false;
    driver.cuMemFree(block.address);
    return {};
  }
  block.exported = *exported;
  return block;
}

}  // namespace dunnage::device
