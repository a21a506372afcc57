#include "memory/staging.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace dunnage::memory {
namespace {
constexpr std::align_val_t line{64};

/// The heap keeps memory that was freed, for example below a block that is still in use. The system
/// takes the pages of larger blocks back at once. Their addresses stay with the heap.
constexpr std::size_t least_emptied = 16 << 10;
void empty(char* data, std::size_t bytes) {
  constexpr std::uintptr_t page = 4096;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (bytes >= least_emptied) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(device_, other.device_);
  std::swap(part_, other.part_);
  return *this;
}

void Staging::give_back() const { pool_->pool_.give(data_, size_, pool_->idle_limit_); }

char* HeapSource::make(std::size_t bytes) noexcept {
  return static_cast<char*>(::operator new(bytes, line, std::nothrow));
}

void HeapSource::free(char* data, std::size_t bytes) noexcept {
  empty(data, bytes);
  ::operator delete(data, line);
}

Staging StagingPool::take(std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size < 0 ? 0 : size);
  auto* data = pool_.take(bytes);
  return data ? Staging{this, data, bytes} : Staging{};
}

}  // namespace dunnage::memory
