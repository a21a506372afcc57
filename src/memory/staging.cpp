#include "memory/staging.hpp"

#include <new>

namespace dunnage::memory {
namespace {
constexpr std::align_val_t line{64};
}

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(device_, other.device_);
  return *this;
}

Staging::~Staging() {
  if (pool_) pool_->pool_.give(data_, size_, pool_->idle_limit_);
}

char* HeapSource::make(std::size_t bytes) noexcept {
  return static_cast<char*>(::operator new(bytes, line, std::nothrow));
}

void HeapSource::free(char* data, std::size_t) noexcept { ::operator delete(data, line); }

Staging StagingPool::take(std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size < 0 ? 0 : size);
  auto* data = pool_.take(bytes);
  return data ? Staging{this, data, bytes} : Staging{};
}

}  // namespace dunnage::memory
