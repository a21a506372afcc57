// Slots in shared memory by which a rank gives another rank of its host its data of nonblocking
// exchanges. Nobody waits for anybody.
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

/// Exchanges take the slots in turn.
struct alignas(64) ExchangeSlot {
  std::atomic<std::uint64_t> exchange{0};  // whose the slot is; 0: nobody's
  PostedExchange what;
};
static_assert(sizeof(ExchangeSlot) == 256);

/// So many exchanges may be posted that the reader has not seen.
inline constexpr std::uint64_t exchange_slots = 64;

/// By the writer of the slots for one reader. Exchanges are numbered from 1 on, by both ranks
/// alike, and are posted in that order. Returns false if there is no slot yet.
inline bool post(ExchangeSlot* slots, std::uint64_t exchange, const PostedExchange& what) {
  auto& slot = slots[exchange % exchange_slots];
  if (slot.exchange.load(std::memory_order_acquire) != 0) return false;
  what.copy_to(slot.what);
  slot.exchange.store(exchange, std::memory_order_release);
  return true;
}
/// By the reader, in that order. Returns false if the exchange has not been posted yet.
inline bool take(ExchangeSlot* slots, std::uint64_t exchange, PostedExchange& what) {
  auto& slot = slots[exchange % exchange_slots];
  if (slot.exchange.load(std::memory_order_acquire) != exchange) return false;
  slot.what.copy_to(what);
  slot.exchange.store(0, std::memory_order_release);
  return true;
}

}  // namespace dunnage::transport::shm
