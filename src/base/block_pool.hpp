// Blocks of consecutive numbers, each number for one user at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace dunnage::base {

/// Not thread-safe.
class BlockPool {
 public:
  /// Of the numbers begin, ..., end - 1.
  BlockPool(std::int64_t begin, std::int64_t end) : begin_(begin), end_(end), next_(begin) {}

  /// Takes `count` consecutive numbers, at least one, and returns the first. Numbers that were
  /// given back come again as late as possible. Returns nothing if there is no such block.
  std::optional<std::int64_t> take(std::int64_t count) {
    auto found = look(next_, end_, count);
    if (!found) found = look(begin_, end_, count);
    if (!found) return std::nullopt;
    taken_[*found] = next_ = *found + count;
    return found;
  }
  /// Gives a block back, of which `first` is the first number.
  void give_back(std::int64_t first) { taken_.erase(first); }

 private:
  std::optional<std::int64_t> look(std::int64_t from, std::int64_t to, std::int64_t count) const {
    auto after = taken_.upper_bound(from);
    if (after != taken_.begin() && std::prev(after)->second > from) from = std::prev(after)->second;
    for (; from + count <= to; from = after->second, ++after)
      if (after == taken_.end() || from + count <= after->first) return from;
    return std::nullopt;
  }

  const std::int64_t begin_, end_;
  std::int64_t next_;                           // where the next search begins
  std::map<std::int64_t, std::int64_t> taken_;  // the ends of blocks by their first numbers
};

}  // namespace dunnage::base
