// A table from handles of the MPI to values of ours. A lookup takes no lock; a change takes one.
//
// The MPI reuses handle values. When a value is erased its key therefore stays in its slot, and
// finds that slot again. One thread may read while another changes a different handle. MPI forbids
// a program to free a handle in one thread while another thread uses it.
//
// Where no two threads use a table at a time, changes take neither the lock nor atomic operations.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/counter.hpp"
#include "base/optional_mutex.hpp"

namespace dunnage::base {

template <class T>
class HandleTable {
 public:
  HandleTable() {
    tables_.push_back(std::make_unique<Table>(64));
    current_ = tables_.back().get();
  }

  /// Returns the value for a handle, or null. Takes no lock.
  [[gnu::always_inline]] T* find(std::uint64_t key) const {
    auto& slot = current_.load(std::memory_order_acquire)->slot(key);
    // Another thread may be filling an empty slot for another key. It writes the key after the
    // value.
    if (slot.key.load(std::memory_order_acquire) != key) return nullptr;
    return slot.value.load(std::memory_order_acquire);
  }

  /// Whether no handle has a value, but for those that rest.
  bool empty() const { return live_.load() == 0; }
  /// A value rests from now on, or no longer: nobody looks for its handle.
  void rests(bool yes) { live_.add(yes ? -1 : 1); }

  /// From now on no two threads use the table at a time. While nobody uses it.
  void one_thread_at_a_time() {
    mutex_.switch_off();
    live_.one_thread_at_a_time();
  }

  /// Sets the value for a handle. Returns the value that it replaces, or null.
  T* insert(std::uint64_t key, T* value) {
    const std::lock_guard lock(mutex_);
    return insert_locked(key, value);
  }

  /// Removes a handle. Returns its value, or null.
  T* erase(std::uint64_t key) {
    if (empty()) return nullptr;
    const std::lock_guard lock(mutex_);
    auto* old = exchange(tables_.back()->slot(key), nullptr);
    if (old) live_.add(-1);
    return old;
  }

  /// The handles whose values are wanted. Other threads may change them at any time.
  template <class F>
  std::vector<std::uint64_t> keys(F&& wanted) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> found;
    for (const auto& slot : tables_.back()->slots())
      if (const auto* value = slot.value.load(std::memory_order_acquire); value && wanted(*value))
        found.push_back(slot.key.load(std::memory_order_acquire));
    return found;
  }

  /// Removes, under one lock, those of `values` for which `wanted` returns true. Null pointers are
  /// skipped. Each value has its handle in `key`.
  template <class Values, class F>
  void take_out(const Values& values, F&& wanted) {
    const std::lock_guard lock(mutex_);
    for (auto* value : values)
      if (value && wanted(*value) && exchange(tables_.back()->slot(value->key), nullptr)) live_.add(-1);
  }
  /// Inserts again the values that take_out() removed with the same arguments. Returns those whose
  /// handle has got another value meanwhile, which are not inserted.
  template <class Values, class F>
  std::vector<T*> put_back(const Values& values, F&& wanted) {
    std::vector<T*> late;
    if (std::all_of(values.begin(), values.end(), [](const auto* value) { return value == nullptr; })) return late;
    const std::lock_guard lock(mutex_);
    for (auto* value : values) {
      if (!value || !wanted(*value)) continue;
      if (find(value->key))
        late.push_back(value);
      else
        insert_locked(value->key, value);
    }
    return late;
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> key{0};
    std::atomic<T*> value{nullptr};
  };
  struct Table {
    explicit Table(std::size_t n) : first(new Slot[n]), mask(n - 1) {}
    /// Returns the slot of the key, or the empty slot where the key would go. The table is never
    /// full, so the search ends.
    [[gnu::always_inline]] Slot& slot(std::uint64_t key) {
      for (auto i = (key * 0x9E3779B97F4A7C15u) >> 32;; ++i) {
        auto& s = first[i & mask];
        const auto at = s.key.load(std::memory_order_acquire);
        if (at == key || at == 0) return s;
      }
    }
    std::size_t size() const { return mask + 1; }
    std::span<Slot> slots() const { return {first.get(), size()}; }

    const std::unique_ptr<Slot[]> first;
    const std::size_t mask;  // the size is a power of two
    std::size_t used = 0;
  };

  T* exchange(Slot& slot, T* value) {
    if (mutex_.is_on()) return slot.value.exchange(value, std::memory_order_acq_rel);
    auto* const old = slot.value.load(std::memory_order_relaxed);
    slot.value.store(value, std::memory_order_relaxed);
    return old;
  }

  T* insert_locked(std::uint64_t key, T* value) {
    auto* table = tables_.back().get();
    auto* slot = &table->slot(key);
    if (slot->key.load(std::memory_order_relaxed) == 0) {
      if (2 * (table->used + 1) > table->size()) {
        table = grow();
        slot = &table->slot(key);
      }
      ++table->used;
    }
    auto* old = exchange(*slot, value);
    slot->key.store(key, std::memory_order_release);
    if (!old) live_.add(1);
    return old;
  }

  Table* grow() {
    auto& old = *tables_.back();
    std::size_t live = 0;
    for (auto& slot : old.slots()) live += slot.value.load() != nullptr;
    auto bigger = std::make_unique<Table>(std::max<std::size_t>(64, std::bit_ceil(4 * (live + 1))));
    for (auto& slot : old.slots())
      if (auto* value = slot.value.load()) {
        auto& to = bigger->slot(slot.key.load());
        to.key = slot.key.load();
        to.value = value;
        ++bigger->used;
      }
    // Readers may still use the old table, so it is kept. The size doubles with the live handles.
    // All old tables together are therefore no larger than the current one, unless handle values
    // never recur.
    tables_.push_back(std::move(bigger));
    current_.store(tables_.back().get(), std::memory_order_release);
    return tables_.back().get();
  }

  OptionalMutex mutex_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<Table*> current_;
  Counter live_;
};

}  // namespace dunnage::base
