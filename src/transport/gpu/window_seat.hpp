// What the ranks of a window tell each other in shared memory, if the memory of the window is
// reached by GPUs and not by the MPI.
//
// Every rank has a seat in its own shared memory. All ranks write to all seats.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include "device/exported.hpp"

namespace dunnage::transport::gpu {

/// Device memory that a rank has attached to a window. Plain bytes.
struct AttachedMemory {
  std::uint64_t begin, size;  // address and bytes at its owner
  std::int64_t at;            // of `begin`, from the beginning of the allocation
  device::Exported allocation;
  bool contains(std::uint64_t address) const { return address >= begin && address - begin < size; }
};

/// What a rank has attached. The owner writes, one thread at a time. All ranks read.
class AttachedMemories {
 public:
  static constexpr std::size_t most = 64;

  /// Returns false if there is no place left.
  bool add(const AttachedMemory& memory) {
    for (auto& place : places_) {
      if (place.version.load(std::memory_order_relaxed) % 4 != 0) continue;
      place.version.fetch_add(1, std::memory_order_acquire);
      place.write(memory);
      place.version.fetch_add(1, std::memory_order_release);
      return true;
    }
    return false;
  }
  /// Returns false if nothing that was attached begins there.
  bool remove(std::uint64_t begin) {
    for (auto& place : places_) {
      if (place.version.load(std::memory_order_relaxed) % 4 != 2 || place.read().begin != begin) continue;
      place.version.fetch_add(2, std::memory_order_release);
      return true;
    }
    return false;
  }
  /// What was attached and contains an address.
  std::optional<AttachedMemory> find(std::uint64_t address) const {
    for (const auto& place : places_) {
      const auto version = place.version.load(std::memory_order_acquire);
      if (version % 4 != 2) continue;
      const auto memory = place.read();
      if (place.version.load(std::memory_order_relaxed) == version && memory.contains(address)) return memory;
    }
    return std::nullopt;
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(AttachedMemory) / sizeof(std::uint64_t)>;
  struct Place {
    // Divided by 4, the rest is 0: empty, 1: being written, 2: there. It grows, so that a reader
    // sees a change.
    std::atomic<std::uint64_t> version{0};
    std::atomic<std::uint64_t> words[Words{}.size()]{};  // of the memory

    void write(const AttachedMemory& memory) {
      const auto values = std::bit_cast<Words>(memory);
      for (std::size_t i = 0; i < values.size(); ++i) words[i].store(values[i], std::memory_order_relaxed);
    }
    /// `version` is read after the words: a reader that finds it unchanged has read one memory.
    AttachedMemory read() const {
      Words values;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = words[i].load(std::memory_order_acquire);
      return std::bit_cast<AttachedMemory>(values);
    }
  };
  Place places_[most];
};

/// One rank's seat. Each operation is atomic; none of them waits.
class WindowSeat {
 public:
  /// Bytes of a seat in a window of `ranks` ranks.
  static std::size_t size(std::uint32_t ranks) { return sizeof(WindowSeat) + ranks * sizeof(Counter); }
  static WindowSeat* make(void* memory, std::uint32_t ranks) {
    auto* seat = new (memory) WindowSeat;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) new (seat->posts() + rank) Counter(0);
    return seat;
  }

  /// The owner has come to so many common points, for example fences.
  void arrive() { arrived_.fetch_add(1, std::memory_order_acq_rel); }
  bool has_arrived(std::uint64_t times) const { return arrived_.load(std::memory_order_acquire) >= times; }

  /// The owner has exposed its memory to that rank once more (MPI_Win_post).
  void post_to(std::uint32_t rank) { posts()[rank].fetch_add(1, std::memory_order_release); }
  bool has_posted_to(std::uint32_t rank, std::uint64_t times) {
    return posts()[rank].load(std::memory_order_acquire) >= times;
  }

  /// Takes the lock of MPI_Win_lock on the owner's memory. Returns false if it is not free.
  bool try_lock(bool exclusive) {
    auto holders = holders_.load(std::memory_order_relaxed);
    if (exclusive) return holders == 0 && holders_.compare_exchange_strong(holders, -1, std::memory_order_acquire);
    while (holders >= 0)
      if (holders_.compare_exchange_weak(holders, holders + 1, std::memory_order_acquire)) return true;
    return false;
  }
  void unlock(bool exclusive) { holders_.fetch_add(exclusive ? 1 : -1, std::memory_order_release); }

  /// Takes the right to update the owner's memory: between ranks, accumulates are one at a time.
  bool try_update() {
    std::uint32_t free = 0;
    return busy_.load(std::memory_order_relaxed) == 0 &&
           busy_.compare_exchange_strong(free, 1, std::memory_order_acquire);
  }
  void end_update() { busy_.store(0, std::memory_order_release); }

  AttachedMemories& attached() { return attached_; }

 private:
  using Counter = std::atomic<std::uint64_t>;
  WindowSeat() = default;
  Counter* posts() { return reinterpret_cast<Counter*>(this + 1); }

  Counter arrived_{0};
  alignas(64) std::atomic<std::int64_t> holders_{0};  // of the lock: how many share it, or -1
  alignas(64) std::atomic<std::uint32_t> busy_{0};
  AttachedMemories attached_;
};

}  // namespace dunnage::transport::gpu
