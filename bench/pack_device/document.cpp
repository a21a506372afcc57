// The launch of the kernel of the blog post "Improving MPI_Pack performance in CUDA-aware MPI",
// which the results call `document`.
#include "document.hpp"

#include <algorithm>
#include <bit>

namespace bench {
namespace {

constexpr std::uint64_t threads = 512;     // threads of a block
constexpr std::uint64_t most_planes = 64;  // threads of a block in Z: CUDA's limit
// Blocks of a grid in Y and Z: CUDA's limit; the kernel strides over the rest.
constexpr std::uint64_t most_blocks = 65535;

unsigned tiles(std::uint64_t work, std::uint64_t block, std::uint64_t most) {
  return static_cast<unsigned>(std::min((work + block - 1) / block, most));
}

}  // namespace

LaunchShape document_launch(std::uint64_t words, std::uint64_t rows, std::uint64_t planes) {
  const std::uint64_t x = std::min(std::bit_ceil(words), threads);
  const std::uint64_t y = std::min(std::bit_ceil(rows), threads / x);
  const std::uint64_t z = std::min({std::bit_ceil(planes), threads / x / y, most_planes});
  return {{tiles(words, x, ~0u >> 1), tiles(rows, y, most_blocks), tiles(planes, z, most_blocks)},
          {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)}};
}

unsigned document_word(const Geometry& g) {
  const std::uint64_t all = g.length | g.base | g.inner.stride | g.outer.stride;
  return 1u << std::min(std::countr_zero(all | 8), 3);
}

void add_document(Ways& ways, const Device& device, const Case& subject, bool packing) {
  const Geometry& g = subject.geometry;
  if (g.offsets) {
    ways.skipped["document"] = "not a box";
    return;
  }
  const unsigned word = document_word(g);
  const std::string name = (packing ? "document_pack_" : "document_unpack_") + std::to_string(word);
  const Kernel kernel = device.kernel(name.c_str());
  if (!kernel) {
    ways.skipped["document"] = "the driver has no such kernel";
    return;
  }
  const LaunchShape shape = document_launch(g.length / word, g.inner.count, g.outer.count);
  const CUstream stream = device.stream();
  ways.series.push_back({"document", [=](const Slot& slot) {
                           const CUdeviceptr user = slot.user + g.base;
                           const CUdeviceptr to = packing ? slot.packed : user, from = packing ? user : slot.packed;
                           kernel.launch(stream, shape.grid, shape.block, to, from, static_cast<unsigned>(g.length),
                                         static_cast<unsigned>(g.inner.count), static_cast<unsigned>(g.inner.stride),
                                         static_cast<unsigned>(g.outer.count), static_cast<unsigned>(g.outer.stride));
                         }});
}

}  // namespace bench
