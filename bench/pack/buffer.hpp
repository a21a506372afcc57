#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "common/evict.hpp"

namespace bench {

/// Memory that begins on a cache line, a few lines into a page. If all buffers began at pages,
/// every store to one would alias a load of the other. An application's buffers do not do that.
class Buffer {
 public:
  /// `lines_into_page` must differ between buffers that are used together.
  Buffer(std::size_t size, std::size_t lines_into_page)
      : size_(size),
        shift_(lines_into_page * cache_line),
        memory_(static_cast<std::byte*>(::operator new (shift_ + size, std::align_val_t{4096}))) {}

  std::byte* data() { return memory_.get() + shift_; }
  const std::byte* data() const { return memory_.get() + shift_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data(), size_}; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
  };
  std::size_t size_;
  std::size_t shift_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// Fills with bytes that differ from place to place and from seed to seed. This touches every page.
void fill(std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace bench
