// From recipes and addresses to launches: which kernels, on what grids, with what parameters.
//
// Everything here is a pure function: `dunnage explain` prints what it says, and tests run it on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "pack/cuda/kernel_id.hpp"
#include "pack/cuda/move.hpp"
#include "pack/cuda/recipe.hpp"
#include "pack/cuda/tile.hpp"

namespace dunnage::pack::cuda {

/// One buffer to be packed or unpacked. Addresses are those that the device uses.
struct Job {
  const Recipe* recipe = nullptr;
  std::uintptr_t user = 0;       // the buffer's address as given to MPI
  std::uintptr_t packed = 0;     // where byte `begin` of the stream is
  std::int64_t begin = 0, end = 0;  // the range of the stream; begin is a multiple of 16, end too or the stream's end
  std::uintptr_t constants = 0;  // where the recipe's constants are
};

/// A copy of contiguous bytes, where nothing else is needed. The address on either side by the direction.
struct Copy {
  std::uintptr_t user, packed;
  std::int64_t size;
};

struct Launch {
  KernelId id;                 // family none: a Copy
  std::uint64_t blocks = 0;    // of block_threads threads each
  std::uint32_t shared = 0;    // bytes
  std::int64_t bytes = 0;      // packed bytes it moves
  std::variant<Copy, Dense<std::uint32_t>, Dense<std::uint64_t>, Rows<std::uint32_t>, Rows<std::uint64_t>, Tiled, Tree, Move<std::uint32_t>,
               Move<std::uint64_t>, std::unique_ptr<Fused<8>>, std::unique_ptr<Fused<32>>, std::unique_ptr<Fused<64>>, std::unique_ptr<Fused<128>>>
      parameters;
  /// Of the kernel's one parameter.
  void* address();
};

/// The level of a nest that is nearest in the user's buffer, if the nest is a transpose: neighbours of the packed order are
/// far apart, and those of that level share sectors. 0 if it is not.
std::size_t transposed_level(const Geometry& geometry);

/// Indices of 32 bits serve up to here: 2^31, less what one group or chunk may reach beyond.
inline constexpr std::int64_t most_items = (std::int64_t{1} << 31) - 65536;
inline constexpr std::int64_t chunk = 16;  // bytes; of rows and trees

/// The largest word, in bytes, of which everything in a nest is made and all of `addresses`, joined by or, are multiples.
std::uint8_t largest_word(const Geometry& geometry, std::uint64_t addresses);

/// The kernel for a range of one part of a recipe, whose first byte stands at `packed`.
KernelId choose(const Part& part, Direction direction, std::uintptr_t user, std::uintptr_t packed, std::int64_t begin, std::int64_t end);

/// The one launch of a job of one part.
Launch plan_one(Direction direction, const Job& job);
/// The one launch that moves bytes [begin, end) of the stream from one buffer to another, multiples of 16 or the stream's end; nothing where
/// packing and unpacking is the way: of structs, lists, transposes and odd addresses. `from`, `to`: the buffers' addresses as given to MPI.
std::optional<Launch> plan_move(const Recipe& from_recipe, std::uintptr_t from, const Recipe& to_recipe, std::uintptr_t to, std::int64_t begin,
                                std::int64_t end);
/// The launches that do all jobs, as few as can be.
std::vector<Launch> plan(Direction direction, std::span<const Job> jobs);

/// Calls f(launch) for each of them, without a vector where there is one.
template <class F>
void each_launch(Direction direction, std::span<const Job> jobs, F&& f) {
  if (jobs.size() == 1 && jobs[0].recipe->parts().size() == 1) {  // by far the most frequent
    auto launch = plan_one(direction, jobs[0]);
    f(launch);
    return;
  }
  for (auto& launch : plan(direction, jobs)) f(launch);
}

}  // namespace dunnage::pack::cuda
