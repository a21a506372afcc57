// A limit for what many users of a process take together.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace dunnage::memory {

/// Counts what is in use, bytes or something else, against a limit. Thread-safe.
class Budget {
 public:
  /// An amount that counts until it is destroyed. Movable. Must not outlive its budget.
  class Part {
   public:
    Part() = default;
    Part(Part&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)), amount_(other.amount_) {}
    Part& operator=(Part&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(amount_, other.amount_);
      return *this;
    }
    ~Part() {
      if (budget_) budget_->used_.fetch_sub(amount_, std::memory_order_relaxed);
    }
    explicit operator bool() const { return budget_ != nullptr; }

   private:
    friend class Budget;
    Part(Budget* budget, std::uint64_t amount) : budget_(budget), amount_(amount) {}
    Budget* budget_ = nullptr;  // null if there is nothing to give back
    std::uint64_t amount_ = 0;
  };

  /// Takes an amount. The result is false if more than `most` would be in use. If nothing is in
  /// use, any amount can be taken.
  Part take(std::uint64_t amount, std::uint64_t most) {
    auto used = used_.load(std::memory_order_relaxed);
    do {
      if (used != 0 && (amount > most || used > most - amount)) return {};
    } while (!used_.compare_exchange_weak(used, used + amount, std::memory_order_relaxed));
    return {this, amount};
  }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace dunnage::memory
