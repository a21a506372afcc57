// Handles of the MPI and what we know of them. Looking one up takes no lock; changes take one.
//
// The MPI reuses handle values, so a key stays in its slot when its value is erased and finds its slot again.
// A reader may run at the same time as a change of another handle; MPI forbids the rest (a handle that is freed
// while another thread uses it).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace dunnage::engine {

template <class T>
class HandleTable {
 public:
  HandleTable() { tables_.push_back(std::make_unique<Table>(64)); current_ = tables_.back().get(); }

  /// The value for a handle, or null. Lock-free.
  T* find(std::uint64_t key) const {
    auto& slot = current_.load(std::memory_order_acquire)->slot(key);
    // An empty slot may be filling up for another key: the key is written after the value.
    if (slot.key.load(std::memory_order_acquire) != key) return nullptr;
    return slot.value.load(std::memory_order_acquire);
  }

  bool empty() const { return live_.load(std::memory_order_relaxed) == 0; }

  /// Sets the value for a handle; returns the one it replaces, or null.
  T* insert(std::uint64_t key, T* value) {
    const std::lock_guard lock(mutex_);
    return insert_locked(key, value);
  }

  /// Removes a handle; returns its value, or null.
  T* erase(std::uint64_t key) {
    if (empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    auto* old = tables_.back()->slot(key).value.exchange(nullptr, std::memory_order_acq_rel);
    if (old) live_.fetch_sub(1, std::memory_order_relaxed);
    return old;
  }

  /// Removes those of some values (null pointers are passed over) for which `wanted` holds, in one go; each knows its key.
  template <class Values, class F>
  void take_out(const Values& values, F&& wanted) {
    const std::lock_guard lock(mutex_);
    for (auto* value : values)
      if (value && wanted(*value) && tables_.back()->slot(value->key).value.exchange(nullptr, std::memory_order_acq_rel))
        live_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Puts back what take_out removed.
  template <class Values, class F>
  void put_back(const Values& values, F&& wanted) {
    const std::lock_guard lock(mutex_);
    for (auto* value : values)
      if (value && wanted(*value)) insert_locked(value->key, value);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> key{0};
    std::atomic<T*> value{nullptr};
  };
  struct Table {
    explicit Table(std::size_t n) : slots(n) {}
    /// The key's slot, or the empty one where it would go; never full, so the search ends.
    Slot& slot(std::uint64_t key) {
      const auto mask = slots.size() - 1;
      for (auto i = (key * 0x9E3779B97F4A7C15u) >> 32;; ++i) {
        auto& s = slots[i & mask];
        const auto at = s.key.load(std::memory_order_acquire);
        if (at == key || at == 0) return s;
      }
    }
    std::vector<Slot> slots;
    std::size_t used = 0;
  };

  T* insert_locked(std::uint64_t key, T* value) {
    auto* table = tables_.back().get();
    auto* slot = &table->slot(key);
    if (slot->key.load(std::memory_order_relaxed) == 0) {
      if (2 * (table->used + 1) > table->slots.size()) {
        table = grow();
        slot = &table->slot(key);
      }
      ++table->used;
    }
    auto* old = slot->value.exchange(value, std::memory_order_acq_rel);
    slot->key.store(key, std::memory_order_release);
    if (!old) live_.fetch_add(1, std::memory_order_relaxed);
    return old;
  }

  Table* grow() {
    auto& old = *tables_.back();
    std::size_t live = 0;
    for (auto& slot : old.slots) live += slot.value.load() != nullptr;
    auto bigger = std::make_unique<Table>(std::max<std::size_t>(64, std::bit_ceil(4 * (live + 1))));
    for (auto& slot : old.slots)
      if (auto* value = slot.value.load()) {
        auto& to = bigger->slot(slot.key.load());
        to.key = slot.key.load();
        to.value = value;
        ++bigger->used;
      }
    // Readers may still hold the old table; it is kept. Sizes double with the live handles, so all the old ones
    // together are no larger than the current one, unless handle values never recur.
    tables_.push_back(std::move(bigger));
    current_.store(tables_.back().get(), std::memory_order_release);
    return tables_.back().get();
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<Table*> current_;
  std::atomic<std::int64_t> live_{0};
};

}  // namespace dunnage::engine
