// Counters of calls for the report: by the size of their data, and by the rank that they send to.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace dunnage::plan {

/// Classes of sizes in bytes: up to 64, up to 256, and so on by powers of 4, to 64 MiB, and more.
constexpr std::size_t size_classes = 12;

/// Returns the class of a size.
constexpr std::size_t size_class(std::uint64_t bytes) {
  const auto bits = bytes <= 64 ? 6 : static_cast<std::size_t>(std::bit_width(bytes - 1));
  return std::min((bits - 5) / 2, size_classes - 1);
}

/// Returns the largest size of a class. The last class has none.
constexpr std::uint64_t largest_of_class(std::size_t size_class) { return std::uint64_t{64} << (2 * size_class); }

/// Some of a program's calls. Thread-safe; relaxed, so figures may be of slightly different times.
struct Portion {
  std::atomic<std::uint64_t> accelerated{0};  // calls
  std::atomic<std::uint64_t> declined{0};     // calls
  std::atomic<std::uint64_t> bytes{0};        // of accelerated calls
  std::atomic<std::uint64_t> nanoseconds{0};  // in accelerated calls

  void accelerate(std::uint64_t of_bytes) {
    accelerated.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(of_bytes, std::memory_order_relaxed);
  }
  void decline() { declined.fetch_add(1, std::memory_order_relaxed); }
  void spend(std::uint64_t time) { nanoseconds.fetch_add(time, std::memory_order_relaxed); }
};

/// A value for each of the first `most` keys that are asked for. Thread-safe. A key keeps its
/// place, and nothing is allocated. `free` is no key.
template <class Key, Key free, class Value, std::size_t most>
class Places {
 public:
  struct Place {
    std::atomic<Key> key{free};
    Value value;
  };

  /// Returns the value of a key, which is positive or 0; null if all places are taken.
  Value* of(Key key) {
    const auto start = static_cast<std::size_t>(key);
    for (std::size_t step = 0; step < most; ++step) {
      Place& place = places_[(start + step) % most];
      Key found = place.key.load(std::memory_order_relaxed);
      if (found == free && place.key.compare_exchange_strong(found, key, std::memory_order_relaxed))
        return &place.value;
      if (found == key) return &place.value;
    }
    return nullptr;
  }
  const std::array<Place, most>& all() const { return places_; }

 private:
  std::array<Place, most> places_{};
};

/// A portion for each of the first `most` ranks that are asked for. Thread-safe.
template <std::size_t most>
class PortionsByRank {
 public:
  /// Returns the portion of a rank, which is 0 or more; that of `others` if all places are taken.
  Portion& of(int rank) {
    Portion* const found = places_.of(rank);
    return found ? *found : others;
  }
  /// The key of a place is its rank, or -1.
  const auto& places() const { return places_.all(); }

  Portion others;

 private:
  Places<int, -1, Portion, most> places_;
};

}  // namespace dunnage::plan
