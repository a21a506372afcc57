// Identifies a kernel: the parts of its name as numbers.
#pragma once

#include <cstdint>
#include <string>

namespace dunnage::pack::cuda {

enum class Direction : std::uint8_t { pack, unpack };

struct KernelId {
  enum class Family : std::uint8_t { none, dense, rows, tile, parts, tree, fused, move, reduce };
  Family family = Family::none;           // none: a plain copy
  Direction direction = Direction::pack;  // always pack for the families move and reduce
  std::uint8_t word = 0;                  // dense, tile, parts, move: bytes that are moved at once; reduce: the element
  // dense: words of a group; rows: 2 for long rows, else 1; tile: elements that are moved at once;
  // fused: log2 of the number of entries that fit; move: that, or 0 for one message
  std::uint8_t group = 0;
  std::uint8_t loops = 0;         // dense, rows, move: the number of loops; 0 for any number
  bool table = false;             // dense, rows: one of the loops has a table
  bool wide = false;              // dense, rows, move: indices have 64 bits
  std::uint8_t thread_words = 0;  // if several entries fit: how many words a thread moves

  /// Whether several entries fit.
  bool fused() const { return family == Family::fused || (family == Family::move && group > 0); }
  bool operator==(const KernelId&) const = default;
  /// A number below `codes` that no other kernel has.
  std::uint32_t code() const;
  static constexpr std::uint32_t codes = 1u << 14;
};

/// The name of the kernel's function in the file of kernels.
std::string name_of(const KernelId& id);

}  // namespace dunnage::pack::cuda
