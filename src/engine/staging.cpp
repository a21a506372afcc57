#include "engine/staging.hpp"

#include <bit>
#include <new>
#include <utility>

namespace dunnage::engine {
namespace {
constexpr std::align_val_t line{64};
}

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(shelf_, other.shelf_);
  std::swap(device_, other.device_);
  return *this;
}

Staging::~Staging() {
  if (pool_) pool_->give_back(data_, shelf_);
}

StagingPool::~StagingPool() {
  for (auto& shelf : shelves_)
    for (auto* data : shelf) ::operator delete(data, line);
}

Staging StagingPool::take(std::int64_t size) {
  const auto bytes = static_cast<std::uint64_t>(size < 1 ? 1 : size);
  const int shelf = std::max(static_cast<int>(std::bit_width(bytes - 1)), smallest);
  {
    const std::lock_guard lock(mutex_);
    auto& idle = shelves_[static_cast<std::size_t>(shelf)];
    if (!idle.empty()) {
      auto* data = idle.back();
      idle.pop_back();
      idle_ -= std::uint64_t{1} << shelf;
      return {this, data, shelf};
    }
  }
  auto* data = static_cast<char*>(::operator new(std::size_t{1} << shelf, line, std::nothrow));
  return data ? Staging{this, data, shelf} : Staging{};
}

std::uint64_t StagingPool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_;
}

void StagingPool::give_back(char* data, int shelf) noexcept {
  const auto bytes = std::uint64_t{1} << shelf;
  {
    const std::lock_guard lock(mutex_);
    auto& idle = shelves_[static_cast<std::size_t>(shelf)];
    if (idle_ + bytes <= idle_limit_) {
      try {
        idle.push_back(data);
        idle_ += bytes;
        return;
      } catch (const std::bad_alloc&) {  // then it is not kept
      }
    }
  }
  ::operator delete(data, line);
}

}  // namespace dunnage::engine
