// Slots in shared memory by which a rank gives another rank of its host its data of nonblocking
// exchanges. Nobody waits for anybody.
//
// Exchanges are numbered from 1 on, by both ranks alike. The writer posts them in that order, each
// in a slot of its own. Slots come in blocks. When a block is full, the writer publishes another
// one, and the full block tells where. So the writer may be any number of exchanges ahead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dunnage::transport::shm {

/// The data that one rank has for another: these themselves, or where they are published.
struct PostedExchange {
  enum class Data : std::uint32_t { none, here, published };
  Data data = Data::none;  // none: the writer has failed
  std::int64_t size = 0;   // of what is here, or of the publication (publications.hpp)
  std::uint64_t begin = 0, serial = 0;
  std::int64_t place = 0;  // where the reader's part begins in the publication
  static constexpr std::int64_t room = 208;
  char here[room];

  /// Copies no more than what is used.
  void copy_to(PostedExchange& other) const {
    std::memcpy(static_cast<void*>(&other), this,
                offsetof(PostedExchange, here) + static_cast<std::size_t>(data == Data::here ? size : 0));
  }
};

struct alignas(64) ExchangeSlot {
  std::atomic<std::uint64_t> exchange{0};  // whose the slot is; 0: nobody's
  PostedExchange what;
};
static_assert(sizeof(ExchangeSlot) == 256);

struct SlotBlock {
  static constexpr std::uint64_t count = 16;
  ExchangeSlot slots[count];
  // Where the next block is published:
  alignas(64) std::atomic<std::uint64_t> next{0};  // its serial; 0: not yet
  std::uint64_t next_begin = 0;
  static constexpr std::uint64_t lost = ~std::uint64_t{0};  // in place of the serial: there will be no next block

  ExchangeSlot& slot(std::uint64_t exchange) { return slots[(exchange - 1) % count]; }
};

/// By the writer.
inline void post(SlotBlock& block, std::uint64_t exchange, const PostedExchange& what) {
  auto& slot = block.slot(exchange);
  what.copy_to(slot.what);
  slot.exchange.store(exchange, std::memory_order_release);
}
/// By the reader. Returns false if the exchange has not been posted yet.
inline bool take(SlotBlock& block, std::uint64_t exchange, PostedExchange& what) {
  const auto& slot = block.slot(exchange);
  if (slot.exchange.load(std::memory_order_acquire) != exchange) return false;
  slot.what.copy_to(what);
  return true;
}

}  // namespace dunnage::transport::shm
