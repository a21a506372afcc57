// Which kernel: what its name says, as numbers.
#pragma once

#include <cstdint>
#include <string>

namespace dunnage::pack::cuda {

enum class Direction : std::uint8_t { pack, unpack };

struct KernelId {
  enum class Family : std::uint8_t { none, dense, rows, tile, parts, tree, fused, move };
  Family family = Family::none;  // none: a plain copy
  Direction direction = Direction::pack;  // move: always this
  std::uint8_t word = 0;   // dense, tile, parts, move: bytes moved at once
  std::uint8_t group = 0;  // dense: words of a group; rows: 2 for long ones, 1 for others; tile: elements moved at once; fused: log2 of the entries there is room for
  std::uint8_t loops = 0;  // dense, rows, move: 0 is any number
  bool table = false;      // dense, rows: one of the loops has a table
  bool wide = false;       // dense, rows, move: indices of 64 bits

  bool operator==(const KernelId&) const = default;
  /// A number of its own, below `codes`.
  std::uint32_t code() const;
  static constexpr std::uint32_t codes = 1u << 14;
};

/// The kernel's name in the module.
std::string name_of(const KernelId& id);

}  // namespace dunnage::pack::cuda
