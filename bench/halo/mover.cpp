#include "halo/mover.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

/// The compiled kernels.cu (image.S).
extern "C" const char bench_halo_image[];

namespace bench::halo {
namespace {

constexpr unsigned threads = 256, most_blocks = 528;  // four for each of an H200's processors

void move_in_host_memory(const BoxMove& move) {
  const auto row = static_cast<std::size_t>(move.length[0]) * sizeof(double);
  for (int z = 0; z < move.length[2]; ++z)
    for (int y = 0; y < move.length[1]; ++y) {
      double* to = move.to + y * move.to_stride[0] + z * move.to_stride[1];
      const double* from = move.from + y * move.from_stride[0] + z * move.from_stride[1];
      if (move.length[0] < 8)  // a call of memcpy costs more
        for (int x = 0; x < move.length[0]; ++x) to[x] = from[x];
      else
        std::memcpy(to, from, row);
    }
}

}  // namespace

Moves::Moves(Where where, std::vector<BoxMove> moves) : moves_(std::move(moves)) {
  std::int64_t most = 1;
  for (const auto& move : moves_) most = std::max(most, std::int64_t{move.length[0]} * move.length[1] * move.length[2]);
  blocks_ = static_cast<unsigned>(std::min<std::int64_t>(most_blocks, (most + threads - 1) / threads));
  if (where == Where::host || moves_.empty()) return;
  on_device_ = Memory(where, moves_.size() * sizeof(BoxMove));
  put(on_device_.place(), reinterpret_cast<const std::byte*>(moves_.data()), moves_.size() * sizeof(BoxMove));
}

Mover::Mover(const Gpu* gpu) {
  if (!gpu) return;
  gpu->make_current();
  stream_ = std::make_unique<Stream>();
  BENCH_CU(cuModuleLoadData, &module_, bench_halo_image);
  BENCH_CU(cuModuleGetFunction, &kernel_, module_, "move_boxes");
}

Mover::~Mover() = default;

void Mover::begin(const Moves& moves) {
  if (moves.empty()) return;
  if (!stream_) {
    for (const auto& move : moves.moves()) move_in_host_memory(move);
    return;
  }
  CUdeviceptr list = moves.on_device().place().device();
  void* parameters[] = {&list};
  BENCH_CU(cuLaunchKernel, kernel_, moves.blocks(), static_cast<unsigned>(moves.moves().size()), 1, threads, 1, 1, 0,
           stream_->get(), parameters, nullptr);
}

void Mover::wait() {
  if (stream_) stream_->wait();
}

}  // namespace bench::halo
