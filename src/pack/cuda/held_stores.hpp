// Stores that a kernel on the simulated device has made, and that nobody else sees yet. A GPU may
// hold stores back until a fence or until the kernel ends. Kernels that tell others of their data
// run with such a holder in tests, so that a missing fence gives wrong bytes.
#pragma once

#include <array>
#include <cstring>
#include <vector>

namespace dunnage::pack::cuda {

/// Stores in their order. One thread uses it at a time.
class HeldStores {
 public:
  static constexpr std::size_t widest = 16;  // bytes of a store

  void hold(void* to, const void* bytes, std::size_t size) {
    auto& made = stores_.emplace_back(Store{static_cast<char*>(to), size, {}});
    std::memcpy(made.bytes.data(), bytes, size);
  }
  /// All others see the stores from now on.
  void release() {
    for (const auto& one : stores_) std::memcpy(one.to, one.bytes.data(), one.size);
    stores_.clear();
  }
  /// A barrier makes the stores of a thread known to all its threads, whose fences then cover them.
  void move_to(HeldStores& others) {
    others.stores_.insert(others.stores_.end(), stores_.begin(), stores_.end());
    stores_.clear();
  }

 private:
  struct Store {
    char* to;
    std::size_t size;
    std::array<char, widest> bytes;
  };
  std::vector<Store> stores_;
};

/// The holder of the thread that runs. Null: all stores are seen at once.
inline thread_local HeldStores* held_stores = nullptr;

/// Whether kernels of this thread that tell others hold their stores back.
inline thread_local bool holds_stores = false;

/// Holds the stores of a kernel back until a fence, or until the object ends.
class Holding {
 public:
  Holding() : before_(held_stores) {
    if (holds_stores) held_stores = &stores_;
  }
  ~Holding() {
    stores_.release();
    held_stores = before_;
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  HeldStores stores_;
  HeldStores* const before_;
};

}  // namespace dunnage::pack::cuda
