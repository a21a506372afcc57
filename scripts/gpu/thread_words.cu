// How many words each thread of a fused kernel should move (src/pack/cuda/fused.hpp): 1, 2 or 4.
// And whether the last block should tell the host of the kernel's end (completing_moves.hpp).
// The kernel brings the 26 regions of a cube's ghost cells, or contiguous bytes, from another GPU
// (peer) or from its own (self). Two GPUs do that at a time. Needs two GPUs that reach each other,
// and no MPI:
//
//   nvcc -O3 -std=c++20 -arch=native -Isrc -o thread_words scripts/gpu/thread_words.cu
//   ./thread_words
//
// Prints microseconds from the launch of a graph until the host of the slower GPU knows of the
// end: medians of 501, of two rounds. The ways take turns. The host asks for the state of the
// stream or, if it is "told", looks at a word that the last block writes.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "pack/cuda/completing_moves.hpp"
#include "probe.hpp"

namespace {

using namespace dunnage::pack::cuda;
using probe::Clock, probe::since;
using Moves = CompletingMoves<32>;
constexpr int turns = 501, warm_up = 50;

template <std::uint32_t U>
__global__ void __launch_bounds__(256) moves(const __grid_constant__ Moves m) {
  move_and_complete<U>(m);
}

/// A box of `extent` doubles per dimension in a cube of `side` doubles.
FusedNest box(char* cube, int side, const int* begin, const int* extent) {
  FusedNest nest;
  const auto stride = [&](int dimension) {
    return dimension == 0 ? 8ll : dimension == 1 ? 8ll * side : 8ll * side * side;
  };
  nest.user = cube;
  for (int d = 0; d < 3; ++d) {
    nest.user += begin[d] * stride(d);
    nest.stride[d] = stride(d);
    if (d == 2) continue;
    nest.count[d] = static_cast<std::uint32_t>(extent[d]);
    nest.by[d] = Divisor<std::uint32_t>(nest.count[d]);
  }
  return nest;
}

std::vector<FusedMove> regions(char* from, char* to, int cells, int deep) {
  std::vector<FusedMove> all;
  const int side = cells + 2 * deep;
  for (int i = 0; i < 27; ++i) {
    const int direction[] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
    if (i == 13) continue;  // the cube itself
    int out[3], in[3], extent[3];
    FusedMove move;
    move.words = 1;
    move.word = 8;
    for (int d = 0; d < 3; ++d) {
      extent[d] = direction[d] ? deep : cells;
      out[d] = direction[d] > 0 ? side - 2 * deep : deep;
      in[d] = direction[d] > 0 ? 0 : direction[d] < 0 ? side - deep : deep;
      move.words *= static_cast<std::uint32_t>(extent[d]);
    }
    move.from = box(from, side, out, extent);
    move.to = box(to, side, in, extent);
    all.push_back(move);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.words > b.words; });
  return all;
}

std::vector<FusedMove> contiguous(char* from, char* to, std::size_t bytes) {
  FusedMove move;
  move.words = static_cast<std::uint32_t>(bytes / 16);
  move.word = 16;
  for (auto* nest : {&move.from, &move.to}) {
    nest->user = nest == &move.from ? from : to;
    nest->count[0] = move.words;
    nest->by[0] = Divisor<std::uint32_t>(move.words);
    nest->stride[0] = 16;
  }
  return {move};
}

template <std::uint32_t U>
void launch(cudaStream_t stream, const std::vector<FusedMove>& all, const Completion& completion) {
  Moves m{};
  m.completion = completion;
  std::uint32_t blocks = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    if (i < all.size()) {
      m.moves.entry[i] = all[i];
      blocks += (all[i].words + block_threads * U - 1) / (block_threads * U);
    }
    m.moves.end_block[i] = blocks;
  }
  moves<U><<<blocks, block_threads, 0, stream>>>(m);
}

cudaGraphExec_t graph_of(cudaStream_t stream, const std::vector<FusedMove>& all, int words, const Completion& c) {
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  words == 1 ? launch<1>(stream, all, c) : words == 2 ? launch<2>(stream, all, c) : launch<4>(stream, all, c);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  return made;
}

struct Case {
  int cells, deep;
  std::size_t bytes;  // 0: regions
};
struct Way {
  const char* name;
  int words;
  bool told;
};
constexpr Way ways[] = {{"1 word", 1, false},
                        {"2 words", 2, false},
                        {"4 words", 4, false},
                        {"1 word, told", 1, true},
                        {"4 words, told", 4, true}};
constexpr int number_of_ways = sizeof ways / sizeof *ways;
char *sent[2], *received[2];
std::atomic<int> arrived{0};
double times[2][number_of_ways][turns];

void both() {  // returns when both threads are here
  const int before = arrived.fetch_add(1);
  while (arrived.load() / 2 == before / 2) {
  }
}

void run(int gpu, const Case& c, bool self) {
  CHECK(cudaSetDevice(gpu));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto *from = sent[self ? gpu : 1 - gpu], *to = received[gpu];
  const auto all = c.bytes ? contiguous(from, to, c.bytes) : regions(from, to, c.cells, c.deep);
  Completion completion;
  CHECK(cudaMalloc(&completion.count, sizeof *completion.count));
  CHECK(cudaMemset(completion.count, 0, sizeof *completion.count));
  CHECK(cudaMallocHost(&completion.told, sizeof *completion.told));
  const volatile auto* told = completion.told;
  *completion.told = 0;
  std::uint64_t launched = 0;
  cudaGraphExec_t graphs[number_of_ways];
  for (int i = 0; i < number_of_ways; ++i)
    graphs[i] = graph_of(stream, all, ways[i].words, ways[i].told ? completion : Completion());
  CHECK(cudaDeviceSynchronize());
  for (int turn = -warm_up; turn < turns; ++turn)
    for (int i = 0; i < number_of_ways; ++i) {
      launched += ways[i].told;
      both();
      const auto start = Clock::now();
      CHECK(cudaGraphLaunch(graphs[i], stream));
      while (ways[i].told ? *told != launched : cudaStreamQuery(stream) == cudaErrorNotReady) {
      }
      if (turn >= 0) times[gpu][i][turn] = since(start);
    }
}

double median(int way) {
  std::vector<double> slower;
  for (int i = 0; i < turns; ++i) slower.push_back(std::max(times[0][way][i], times[1][way][i]));
  std::sort(slower.begin(), slower.end());
  return slower[turns / 2];
}

}  // namespace

int main() {
  constexpr std::size_t room = 180 << 20;
  for (int gpu = 0; gpu < 2; ++gpu) {
    CHECK(cudaSetDevice(gpu));
    CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
    CHECK(cudaMalloc(&sent[gpu], room));
    CHECK(cudaMalloc(&received[gpu], room));
  }
  std::printf("%-6s%-16s", "from", "what");
  for (const auto& way : ways) std::printf("%16s", way.name);
  std::printf("\n");
  const Case cases[] = {{0, 0, 64},       {0, 0, 64 << 10}, {0, 0, 1 << 20}, {0, 0, 2 << 20}, {0, 0, 4 << 20},
                        {0, 0, 64 << 20}, {64, 1, 0},       {64, 3, 0},      {256, 1, 0},     {256, 3, 0}};
  for (const bool self : {false, true})
    for (const auto& c : cases) {
      double medians[2][number_of_ways];
      for (auto& round : medians) {
        std::thread other(run, 1, c, self);
        run(0, c, self);
        other.join();
        for (int i = 0; i < number_of_ways; ++i) round[i] = median(i);
      }
      char what[32];
      c.bytes ? std::snprintf(what, sizeof what, "%zu bytes", c.bytes)
              : std::snprintf(what, sizeof what, "%d^3, %d deep", c.cells, c.deep);
      std::printf("%-6s%-16s", self ? "self" : "peer", what);
      for (int i = 0; i < number_of_ways; ++i) std::printf("%8.2f%8.2f", medians[0][i], medians[1][i]);
      std::printf("\n");
    }
  return 0;
}
