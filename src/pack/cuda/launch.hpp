// From recipes and addresses to launches: which kernels, with which grids and parameters.
//
// All functions are pure. `dunnage explain` prints their results, and tests call them on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "pack/cuda/completing_moves.hpp"
#include "pack/cuda/kernel_id.hpp"
#include "pack/cuda/move.hpp"
#include "pack/cuda/recipe.hpp"
#include "pack/cuda/reduction.hpp"
#include "pack/cuda/tile.hpp"

namespace dunnage::pack::cuda {

/// One buffer to pack or unpack. All addresses are those that the device uses.
struct Job {
  const Recipe* recipe = nullptr;
  std::uintptr_t user = 0;          // the buffer's address as given to MPI
  std::uintptr_t packed = 0;        // the address of byte `begin` of the packed stream
  std::int64_t begin = 0, end = 0;  // of the packed stream; multiples of 16, but `end` may be the stream's end
  std::uintptr_t constants = 0;     // the address of the recipe's constants
};

/// A copy of contiguous bytes, which needs no kernel. The direction tells which side is the source.
struct Copy {
  std::uintptr_t user, packed;
  std::int64_t size;
};

struct Launch {
  KernelId id;               // if the family is none, `parameters` is a Copy
  std::uint64_t blocks = 0;  // each of block_threads threads
  std::uint32_t shared = 0;  // bytes of shared memory
  std::int64_t bytes = 0;    // how many packed bytes the launch moves
  std::variant<Copy, Dense<std::uint32_t>, Dense<std::uint64_t>, Rows<std::uint32_t>, Rows<std::uint64_t>, Tiled, Tree,
               Move<std::uint32_t>, Move<std::uint64_t>, Reduction, std::unique_ptr<Fused<8>>,
               std::unique_ptr<Fused<32>>, std::unique_ptr<Fused<64>>, std::unique_ptr<Fused<128>>,
               std::unique_ptr<CompletingMoves<8>>, std::unique_ptr<CompletingMoves<32>>,
               std::unique_ptr<CompletingMoves<64>>, std::unique_ptr<CompletingMoves<128>>>
      parameters;
  /// The address of the kernel's only parameter, and its bytes.
  void* address();
  std::size_t size() const;
};

/// If a nest is a transpose, the level whose elements are neighbours in the user's buffer; else 0.
/// In a transpose, neighbours in the packed stream are far apart in the user's buffer, and the
/// elements of another level share sectors.
std::size_t transposed_level(const Geometry& geometry);

/// The most items for which 32-bit indices are large enough: 2^31, less the items that a group or a
/// chunk may reach beyond the end.
inline constexpr std::int64_t most_items = (std::int64_t{1} << 31) - 65536;
inline constexpr std::int64_t chunk = 16;  // bytes that a thread moves in rows and trees

/// The largest word in bytes that divides every size and stride of a nest and every address.
/// `addresses` is the bitwise or of all addresses.
std::uint8_t largest_word(const Geometry& geometry, std::uint64_t addresses);

/// The kernel for a range of one part of a recipe. `packed` is the address of the first byte of the
/// range.
KernelId choose(const Part& part, Direction direction, std::uintptr_t user, std::uintptr_t packed, std::int64_t begin,
                std::int64_t end);

/// The launch of a job whose recipe has one part.
Launch plan_one(Direction direction, const Job& job);
/// The launch that moves bytes [begin, end) of the packed stream directly from buffer to buffer.
/// Both numbers are multiples of 16, but `end` may be the stream's end. `from` and `to` are the
/// buffers' addresses as given to MPI. Empty for structs, lists, transposes and odd addresses, for
/// which packing and unpacking is faster.
std::optional<Launch> plan_move(const Recipe& from_recipe, std::uintptr_t from, const Recipe& to_recipe,
                                std::uintptr_t to, std::int64_t begin, std::int64_t end);

/// One message to move from buffer to buffer. All addresses are those that the device uses.
struct MoveJob {
  const Recipe* from_recipe;
  std::uintptr_t from;  // the buffer's address as given to MPI
  const Recipe* to_recipe;
  std::uintptr_t to;
  std::int64_t size;  // packed bytes; the receiver's buffer may be larger than the message
};
/// Whether a message can share a launch with others, and is not moved faster alone. False for lists
/// and trees, for nests of many loops, and for long transposes and odd addresses.
bool fuses(const MoveJob& job);
/// The launches that move all messages, as few as possible. fuses() must be true of each.
/// `few_blocks`: for kernels whose blocks wait for other ranks, or tell them (telling_moves.hpp).
std::vector<Launch> plan_moves(std::span<const MoveJob> jobs, bool few_blocks = false);

/// The launches that do all jobs, as few as possible.
std::vector<Launch> plan(Direction direction, std::span<const Job> jobs);

/// Calls f(launch) for each launch of plan(). If there is only one, no vector is allocated.
template <class F>
void each_launch(Direction direction, std::span<const Job> jobs, F&& f) {
  if (jobs.size() == 1 && jobs[0].recipe->parts().size() == 1) {  // by far the most frequent case
    auto launch = plan_one(direction, jobs[0]);
    f(launch);
    return;
  }
  for (auto& launch : plan(direction, jobs)) f(launch);
}

}  // namespace dunnage::pack::cuda
