// Which data are of one kind, so that one trial is about all of them, and `dunnage explain` finds a
// trial in a report.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "plan/host.hpp"

namespace dunnage::plan {

/// Data of one kind: the kernel, the mean length of a block, and to a factor of two the size and
/// the part of the user's memory that the data fill.
struct DataKind {
  std::string kernel;
  std::int64_t block;  // bytes
  int size, spread;    // powers of two
  bool mixed;
  auto operator<=>(const DataKind&) const = default;

  /// Returns the most bytes that data of this kind have. They have more than half as many.
  std::int64_t most() const { return std::int64_t{1} << size; }
  /// Returns a bound: the data are spread over less than so many times their size.
  std::int64_t most_spread() const { return std::int64_t{1} << spread; }
};

/// Returns the kind of data of a shape that a kernel packs, spread over `span` bytes of the user's
/// memory. There is at least one byte of data.
DataKind kind_of(std::string kernel, const Shape& shape, std::int64_t span);

/// Returns the kind as text, for the report: size, block and kernel.
std::string text(const DataKind& kind);

}  // namespace dunnage::plan
