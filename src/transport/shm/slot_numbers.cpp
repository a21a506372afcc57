#include "transport/shm/slot_numbers.hpp"

#include <algorithm>
#include <bit>

namespace dunnage::transport::shm {

SlotNumbers::Uses& SlotNumbers::uses(std::uint32_t receiver, Slot::Kind kind) {
  auto& there = receivers_[receiver];
  if (!there) there = std::make_unique<Receiver>();
  return there->kinds[kind];
}

/// The lowest row: receivers look at all rows that are in use.
std::optional<std::uint32_t> SlotNumbers::free_row(std::uint32_t index) const {
  for (std::uint32_t word = 0; word < taken_[index].size(); ++word)
    if (const auto free = ~taken_[index][word]; free != 0)
      return word * 64 + static_cast<std::uint32_t>(std::countr_zero(free));
  return std::nullopt;
}

/// A length that no operation has, up to half of the lengths: if the MPI truncates a ticket, its
/// length then tells which ticket that was. The other half is for operations of other sizes.
std::optional<std::uint32_t> SlotNumbers::index_for(Uses& uses, std::int64_t size) {
  const bool share_first = uses.lengths >= length_count / 2;
  for (const bool share : {share_first, !share_first}) {
    if (!share && uses.lengths == length_count) continue;
    for (std::uint32_t tried = 0; tried < length_count; ++tried) {
      const auto index = next_++ % length_count;
      if (uses.avoided[index]) continue;
      const bool suits = share ? uses.size[index] == size : uses.operations[index] == 0;
      if (suits && free_row(index)) return index;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SlotNumbers::take(std::uint32_t receiver, Slot::Kind kind, std::int64_t size) {
  std::optional<std::uint32_t> index;
  if (kind == Slot::token) {  // whose message has no length of its own
    for (std::uint32_t tried = 0; tried < length_count && !index; ++tried)
      if (const auto any = next_++ % length_count; free_row(any)) index = any;
    if (!index) return std::nullopt;
  } else {
    auto& used = uses(receiver, kind);
    index = index_for(used, size);
    if (!index) return std::nullopt;
    used.size[*index] = size;
    if (used.operations[*index]++ == 0) ++used.lengths;
  }
  const auto row = *free_row(*index);
  taken_[*index][row / 64] |= std::uint64_t{1} << row % 64;
  ++in_row_[row];
  rows_ = std::max(rows_, row + 1);
  return row * length_count + *index;
}

void SlotNumbers::give_back(std::uint32_t slot, std::uint32_t receiver, Slot::Kind kind) {
  const auto index = slot % length_count, row = slot / length_count;
  taken_[index][row / 64] &= ~(std::uint64_t{1} << row % 64);
  --in_row_[row];
  while (rows_ > 0 && in_row_[rows_ - 1] == 0) --rows_;
  if (kind == Slot::token) return;
  auto& used = uses(receiver, kind);
  if (--used.operations[index] == 0 && !used.avoided[index]) --used.lengths;
}

void SlotNumbers::avoid(std::uint32_t receiver, Slot::Kind kind, std::uint32_t index) {
  auto& used = uses(receiver, kind);
  if (used.avoided[index]) return;
  used.avoided[index] = true;
  if (used.operations[index] == 0) ++used.lengths;
}

}  // namespace dunnage::transport::shm
