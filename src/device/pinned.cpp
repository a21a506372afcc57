#include "device/pinned.hpp"

#include <algorithm>
#include <bit>

namespace dunnage::device {

int PinnedPool::shelf_of(std::size_t size) { return std::max(static_cast<int>(std::bit_width(std::max<std::size_t>(size, 1) - 1)), smallest); }

char* PinnedPool::take_idle(std::size_t size) {
  const std::lock_guard lock(mutex_);
  auto& idle = idle_[static_cast<std::size_t>(shelf_of(size))];
  if (idle.empty()) return nullptr;
  auto* data = idle.back();
  idle.pop_back();
  return data;
}

char* PinnedPool::take(std::size_t size, std::size_t limit) {
  if (size > limit) return nullptr;
  if (auto* data = take_idle(size)) return data;
  const auto shelf = shelf_of(size);
  const auto bytes = std::size_t{1} << shelf;
  {
    const std::lock_guard lock(mutex_);
    auto& idle = idle_[static_cast<std::size_t>(shelf)];
    if (all_ + bytes > limit) return nullptr;
    idle.reserve(++made_[static_cast<std::size_t>(shelf)]);  // so that giving back needs no memory
    all_ += bytes;
  }
  void* data = nullptr;
  if (driver_.cuMemAllocHost(&data, bytes) == CUDA_SUCCESS) return static_cast<char*>(data);
  const std::lock_guard lock(mutex_);
  all_ -= bytes;
  return nullptr;
}

void PinnedPool::give(char* data, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (!released_) idle_[static_cast<std::size_t>(shelf_of(size))].push_back(data);
}

void PinnedPool::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  for (auto& shelf : idle_) {
    for (auto* data : shelf) driver_.cuMemFreeHost(data);
    shelf.clear();
  }
}

}  // namespace dunnage::device
