#include "pack/cuda/kernel_id.hpp"

#include <bit>

#include <fmt/format.h>

#include "pack/cuda/reduction.hpp"

namespace dunnage::pack::cuda {

std::uint32_t KernelId::code() const {
  // The family is three bits. Plain copies have no kernels, so reductions have their codes.
  if (family == Family::reduce) return static_cast<std::uint32_t>(word) << 4;
  // Three bits hold the logarithm of a word, and three that of a group or of the number of entries.
  // Two bits hold the loops, or the logarithm of a thread's words.
  const auto log2 = [](std::uint32_t x) { return static_cast<std::uint32_t>(std::bit_width(x)); };
  return static_cast<std::uint32_t>(family) | static_cast<std::uint32_t>(direction) << 3 | log2(word) << 4 |
         (family == Family::fused || family == Family::move ? group & 7u : log2(group)) << 7 |
         (fused() ? log2(thread_words) : loops) << 10 | static_cast<std::uint32_t>(table) << 12 |
         static_cast<std::uint32_t>(wide) << 13;
}

std::string name_of(const KernelId& id) {
  const auto direction = id.direction == Direction::pack ? "pack" : "unpack";
  switch (id.family) {
    case KernelId::Family::none: return "copy";
    case KernelId::Family::dense:
      return fmt::format("dense_{}_w{}_v{}_d{}_t{}_i{}", direction, id.word, id.group, id.loops, id.table ? 1 : 0,
                         id.wide ? 64 : 32);
    case KernelId::Family::rows:
      return fmt::format("rows_{}_l{}_d{}_t{}_i{}", direction, id.group - 1, id.loops, id.table ? 1 : 0,
                         id.wide ? 64 : 32);
    case KernelId::Family::tile: return fmt::format("tile_{}_w{}_m{}", direction, id.word, id.group);
    case KernelId::Family::parts: return fmt::format("parts_{}_w{}", direction, id.word);
    case KernelId::Family::tree: return fmt::format("tree_{}", direction);
    case KernelId::Family::fused: return fmt::format("fused_{}_n{}_u{}", direction, 1 << id.group, id.thread_words);
    case KernelId::Family::move:
      if (id.group) return fmt::format("moves_n{}_u{}", 1 << id.group, id.thread_words);
      return fmt::format("move_w{}_d{}_i{}", id.word, id.loops, id.wide ? 64 : 32);
    case KernelId::Family::reduce: return fmt::format("reduce_{}", facts_of(static_cast<Element>(id.word)).name);
  }
  return {};
}

}  // namespace dunnage::pack::cuda
