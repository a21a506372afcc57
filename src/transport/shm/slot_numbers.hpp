// Which slot an operation gets. The slots stand in rows (transport/ticket.hpp): slot number `row *
// length_count + index` announces its operation by the length with that index.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/shm/layout.hpp"

namespace dunnage::transport::shm {

/// Not thread-safe.
class SlotNumbers {
 public:
  /// `ranks`: how many receivers there may be.
  explicit SlotNumbers(std::uint32_t ranks) : receivers_(ranks) {}

  /// A free slot for an operation of `size` bytes. Two operations with tickets of one length to one
  /// receiver always have one size: a probe sees the length only, and must tell the size. Returns
  /// nothing if no slot suits.
  std::optional<std::uint32_t> take(std::uint32_t receiver, Slot::Kind kind, std::int64_t size);
  /// `receiver`, `kind`: those of take().
  void give_back(std::uint32_t slot, std::uint32_t receiver, Slot::Kind kind);
  /// From now on no ticket of that kind to that receiver has the length with that index.
  void avoid(std::uint32_t receiver, Slot::Kind kind, std::uint32_t index);
  /// No slot is taken in this row, or behind it.
  std::uint32_t rows() const { return rows_; }

 private:
  /// The lengths of one kind of ticket to one receiver.
  struct Uses {
    std::bitset<length_count> avoided;
    std::array<std::uint32_t, length_count> operations{};
    std::array<std::int64_t, length_count> size{};  // of those operations
    std::uint32_t lengths = 0;                      // how many lengths are in use or avoided
  };
  struct Receiver {
    Uses kinds[2];
  };
  Uses& uses(std::uint32_t receiver, Slot::Kind kind);
  std::optional<std::uint32_t> index_for(Uses& uses, std::int64_t size);
  std::optional<std::uint32_t> free_row(std::uint32_t index) const;

  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::array<std::array<std::uint64_t, transport::rows / 64>, length_count> taken_{};  // by index: a bit for each row
  std::array<std::uint32_t, transport::rows> in_row_{};                                // how many slots are taken
  std::uint32_t rows_ = 0, next_ = 0;
};

}  // namespace dunnage::transport::shm
