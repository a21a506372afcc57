// Short messages whose words carry the number of their exchange: the sender's kernel writes each
// word with that number, the stamp, into memory of the receiver. The receiver's kernel looks at the
// words until all have the stamp. So no fence, no flag and no way back over the link lies between
// them. NCCL calls such a protocol LL.
//
// A cell is eight bytes, which a GPU writes at once: a word of at most four bytes, and the lower
// half of the number. Nobody resets cells. Before the sender writes the next stamps, it waits for
// `done`, which the receiver writes after it has read all cells.
#pragma once

#include "pack/cuda/signal.hpp"

namespace dunnage::pack::cuda {

inline constexpr std::uint32_t most_stamped_words = 1024;  // of a message
inline constexpr std::uint32_t most_stamped_entries = 8;   // of a launch
inline constexpr std::uint32_t stamped_word = 4;           // bytes of the largest word

/// One launch of one block: sends or receives the words of some messages, tells others, and waits.
struct StampedExchange {
  std::uint64_t* epoch = nullptr;
  const std::uint64_t* broken = nullptr;  // a slot that gets `broken_from` or more if the exchange is given up
  std::uint64_t broken_from = 0;
  std::uint32_t advance = 0;  // 1: a new exchange begins
  std::uint32_t sends = 0;    // 1: sends, 0: receives
  std::uint32_t entries = 0;
  FusedEntry entry[most_stamped_entries];  // `packed`: the cells
  Signal after;
};

DUNNAGE_HD void store_cell(std::uint64_t* to, std::uint64_t cell) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(to), "l"(cell) : "memory");
#else
  __atomic_store_n(to, cell, __ATOMIC_RELAXED);
#endif
}
DUNNAGE_HD std::uint64_t load_cell(const std::uint64_t* from) {
#ifdef __CUDA_ARCH__
  std::uint64_t cell;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(cell) : "l"(from) : "memory");
  return cell;
#else
  return __atomic_load_n(from, __ATOMIC_RELAXED);
#endif
}

/// The part of one thread of a block in sending the words of an entry.
template <int W>
DUNNAGE_HD void send_stamped(const FusedEntry& e, std::uint32_t stamp, std::uint32_t thread) {
  auto* const cells = reinterpret_cast<std::uint64_t*>(e.packed);
  Word<W> words[fused_words];
  for (auto first = thread; first < e.words; first += fused_words * block_threads) {
    DUNNAGE_UNROLL
    for (std::uint32_t u = 0; u < fused_words; ++u)
      if (const auto i = first + u * block_threads; i < e.words) words[u] = load<W>(locate(e.nest, i));
    DUNNAGE_UNROLL
    for (std::uint32_t u = 0; u < fused_words; ++u)
      if (const auto i = first + u * block_threads; i < e.words)
        store_cell(cells + i, std::uint64_t{words[u].part[0]} | std::uint64_t{stamp} << 32);
  }
}

/// The part of one thread of a block in receiving the words of an entry. `rest` is called between
/// two looks. Returns false, without the words, if the exchange is given up.
template <int W, class Rest>
DUNNAGE_HD bool receive_stamped(const StampedExchange& x, const FusedEntry& e, std::uint32_t stamp,
                                std::uint32_t thread, Rest rest) {
  const auto* const cells = reinterpret_cast<const std::uint64_t*>(e.packed);
  std::uint64_t cell[fused_words];
  for (auto first = thread; first < e.words; first += fused_words * block_threads) {
    for (std::uint32_t looks = 1;; ++looks) {
      bool all = true;
      DUNNAGE_UNROLL
      for (std::uint32_t u = 0; u < fused_words; ++u) {
        const auto i = first + u * block_threads;
        if (i >= e.words) continue;
        cell[u] = load_cell(cells + i);
        all = all && static_cast<std::uint32_t>(cell[u] >> 32) == stamp;
      }
      if (all) break;
      if (looks % 256 == 0 && load_acquire(x.broken) >= x.broken_from) return false;
      rest();
    }
    DUNNAGE_UNROLL
    for (std::uint32_t u = 0; u < fused_words; ++u)
      if (const auto i = first + u * block_threads; i < e.words)
        store<W>(locate(e.nest, i), Word<W>{{static_cast<typename Word<W>::Part>(cell[u])}});
  }
  return true;
}

template <class Rest>
DUNNAGE_HD bool run_stamped_entry(const StampedExchange& x, const FusedEntry& e, std::uint32_t stamp,
                                  std::uint32_t thread, Rest rest) {
  if (x.sends) {
    switch (e.word) {
      case 1: send_stamped<1>(e, stamp, thread); break;
      case 2: send_stamped<2>(e, stamp, thread); break;
      default: send_stamped<4>(e, stamp, thread);
    }
    return true;
  }
  switch (e.word) {
    case 1: return receive_stamped<1>(x, e, stamp, thread, rest);
    case 2: return receive_stamped<2>(x, e, stamp, thread, rest);
    default: return receive_stamped<4>(x, e, stamp, thread, rest);
  }
}

/// The part of one thread in all words. Returns false if the exchange is given up.
template <class Rest>
DUNNAGE_HD bool run_stamped(const StampedExchange& x, std::uint64_t epoch, std::uint32_t thread, Rest rest) {
  for (std::uint32_t k = 0; k < x.entries; ++k)
    if (!run_stamped_entry(x, x.entry[k], static_cast<std::uint32_t>(epoch), thread, rest)) return false;
  return true;
}

/// Tells that cells have been read. Nothing else depends on that, so there is no fence.
template <class Reach>
DUNNAGE_HD void tell_at_once(const Signal& s, std::uint64_t epoch, std::uint32_t thread, std::uint32_t threads,
                             Reach reach) {
  for (auto i = thread; i < s.puts; i += threads) store_cell(reach(i < Signal::near ? s.put[i] : s.puts_at[i]), epoch);
}

}  // namespace dunnage::pack::cuda
