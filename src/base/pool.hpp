// Memory that is kept for the next user, because making new memory costs far more than using it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace dunnage::base {

/// The idle memory of a pool, counted in bytes against one limit.
class IdleBytes {
 public:
  /// Whether `bytes` more would stay within `most`.
  bool fits(std::uint64_t bytes, std::uint64_t most) const { return all_ + bytes <= most; }
  void add(std::uint64_t bytes) { all_ += bytes; }
  void remove(std::uint64_t bytes) { all_ -= bytes; }
  std::uint64_t bytes() const { return all_; }

 private:
  std::uint64_t all_ = 0;
};

/// Blocks of memory by powers of two. The block that was given back last is taken first, because it
/// is most likely in the caches. Thread-safe. There is one lock, which only release() holds while
/// the source makes or frees memory.
///
/// Source: where the memory comes from.
///   using Block = ...;                           // small; false in a condition if empty
///   static constexpr int smallest = ...;         // log2 of the bytes of the smallest block
///   static constexpr bool makes_room = ...;      // whether a limit frees idle blocks of other sizes
///   Block make(std::size_t bytes, arguments);    // `arguments` of take(); must not throw
///   void free(const Block&, std::size_t bytes);  // must not throw
/// Idle: counts idle memory, with the members of IdleBytes.
template <class Source, class Idle = IdleBytes>
class Pool {
 public:
  using Block = typename Source::Block;
  static constexpr std::uint64_t unlimited = ~std::uint64_t{0};

  explicit Pool(Source source = {}) : source_(std::move(source)) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// How many bytes a block for `size` bytes has.
  static std::size_t rounded(std::size_t size) { return std::size_t{1} << shelf_of(size); }

  /// A block of at least `size` bytes. It is empty if the source has no memory, if the pool would
  /// have more than `most` bytes in all, idle or not, or after release().
  template <class... Arguments>
  Block take(std::size_t size, std::uint64_t most = unlimited, Arguments&&... arguments) {
    if (size > most || size > largest) return Block{};
    const auto shelf = shelf_of(size);
    const auto bytes = std::size_t{1} << shelf;
    for (;;) {
      Victim victim;
      {
        const std::lock_guard lock(mutex_);
        if (!shelves_[shelf].idle.empty()) return pop(shelf);
        if (released_) return Block{};
        if (bytes > most) return Block{};
        if (all_ <= most - bytes) {
          if (!reserve(shelf)) return Block{};
          all_ += bytes;
          break;
        }
        if (!Source::makes_room || !(victim = any_idle()).block) return Block{};
      }
      source_.free(victim.block, victim.bytes);
    }
    Block made = source_.make(bytes, std::forward<Arguments>(arguments)...);
    if (!made) {
      const std::lock_guard lock(mutex_);
      forget(shelf);
    }
    return made;
  }

  /// An idle block of at least `size` bytes. It is empty if there is none.
  Block take_idle(std::size_t size) {
    if (size > largest) return Block{};
    const auto shelf = shelf_of(size);
    const std::lock_guard lock(mutex_);
    return shelves_[shelf].idle.empty() ? Block{} : pop(shelf);
  }

  /// Gives back a block that was taken for `size` bytes. The block is freed if idle memory would
  /// exceed `most_idle`. After release() the block is neither kept nor freed.
  void give(Block block, std::size_t size, std::uint64_t most_idle = unlimited) noexcept {
    const auto shelf = shelf_of(size);
    const auto bytes = std::size_t{1} << shelf;
    for (;;) {
      Victim victim;
      {
        const std::lock_guard lock(mutex_);
        if (released_) return;
        if (idle_.fits(bytes, most_idle)) {
          idle_.add(bytes);
          shelves_[shelf].idle.push_back(std::move(block));  // cannot throw: see reserve()
          return;
        }
        const bool worth_it = Source::makes_room && Idle().fits(bytes, most_idle);
        if (!worth_it || !(victim = any_idle()).block) {
          forget(shelf);
          break;
        }
      }
      source_.free(victim.block, victim.bytes);
    }
    source_.free(block, bytes);
  }

  /// Frees all idle blocks. The pool is of no use afterwards. The destructor frees nothing, because
  /// not every source can free memory at that time.
  void release() noexcept {
    const std::lock_guard lock(mutex_);
    released_ = true;
    for (Victim victim; (victim = any_idle()).block;) source_.free(victim.block, victim.bytes);
  }

  /// The idle memory, as Idle counts it.
  Idle idle() const {
    const std::lock_guard lock(mutex_);
    return idle_;
  }

 private:
  struct Shelf {
    std::vector<Block> idle;
    std::size_t made = 0;  // blocks of this size that exist, idle or not
  };
  struct Victim {
    Block block{};
    std::size_t bytes = 0;
  };
  static constexpr std::size_t shelves = 64, largest = std::size_t{1} << (shelves - 1);

  static std::size_t shelf_of(std::size_t size) {
    const auto exact = std::bit_width(size - (size != 0));
    return static_cast<std::size_t>(exact < Source::smallest ? Source::smallest : exact);
  }

  /// Room for one more block on a shelf, so that giving blocks back needs no memory. False if there
  /// is no memory.
  bool reserve(std::size_t shelf) noexcept try {
    auto& [idle, made] = shelves_[shelf];
    if (idle.capacity() <= made) idle.reserve(2 * made + 1);
    ++made;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  Block pop(std::size_t shelf) {
    auto& idle = shelves_[shelf].idle;
    Block block = std::move(idle.back());
    idle.pop_back();
    idle_.remove(std::size_t{1} << shelf);
    return block;
  }
  void forget(std::size_t shelf) {
    --shelves_[shelf].made;
    all_ -= std::size_t{1} << shelf;
  }
  /// Takes an idle block to free it: one of the largest, so that few must be freed. Empty if there
  /// is none.
  Victim any_idle() {
    for (std::size_t shelf = shelves; shelf-- > 0;) {
      if (shelves_[shelf].idle.empty()) continue;
      Victim victim{pop(shelf), std::size_t{1} << shelf};
      forget(shelf);
      return victim;
    }
    return {};
  }

  [[no_unique_address]] Source source_;
  mutable std::mutex mutex_;
  std::array<Shelf, shelves> shelves_;
  Idle idle_;
  std::uint64_t all_ = 0;  // bytes of all blocks, idle or not
  bool released_ = false;
};

}  // namespace dunnage::base
