// How long it takes until the host knows that a kernel has moved data from another GPU: by asking
// the driver for the stream's state, or by a word in host memory that the last block writes.
// Needs two GPUs that reach each other, and no MPI:
//
//   nvcc -O3 -std=c++20 -arch=native -o know_the_end scripts/gpu/know_the_end.cu && ./know_the_end
//
// All ways take turns. Prints microseconds from the launch until the host knows of the end: the
// median of 2001, and the least.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "probe.hpp"

namespace {

using probe::Clock, probe::since;
constexpr int turns = 2001;

struct Copy {
  const uint4* from;
  uint4* to;
  std::uint32_t words;
  std::uint32_t* finished;         // blocks that have finished, in device memory
  std::uint64_t* told;             // in host memory; null if nobody is told
  const std::uint64_t* number_at;  // what the last block writes there
};

template <int N>
__global__ void copy(Copy c) {
  const auto step = gridDim.x * blockDim.x;
  auto at = blockIdx.x * blockDim.x + threadIdx.x;
  for (; at < c.words; at += step * N) {
    uint4 words[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (at + i * step < c.words) words[i] = c.from[at + i * step];
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (at + i * step < c.words) c.to[at + i * step] = words[i];
  }
  if (!c.told) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t before = 0;
  if (gridDim.x > 1)
    asm volatile("fence.acq_rel.gpu; atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(c.finished), "r"(gridDim.x - 1)
                 : "memory");
  if (before != gridDim.x - 1) return;
  const auto number = *c.number_at + 1;
  *const_cast<std::uint64_t*>(c.number_at) = number;
  asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u64 [%0], %1;" : : "l"(c.told), "l"(number) : "memory");
}

struct Way {
  std::string name;
  bool graph, tells, engine;
  bool writes;
  std::vector<double> samples;
};

}  // namespace

int main() {
  constexpr std::size_t room = 16 << 20;
  char *here, *there;
  CHECK(cudaSetDevice(1));
  CHECK(cudaDeviceEnablePeerAccess(0, 0));
  CHECK(cudaMalloc(&there, room));
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaMalloc(&here, room));
  char* counters;
  CHECK(cudaMalloc(&counters, 4096));
  CHECK(cudaMemset(counters, 0, 4096));
  std::uint64_t* told;
  CHECK(cudaHostAlloc(&told, 4096, cudaHostAllocMapped));
  *told = 0;
  std::uint64_t number = 0;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  const auto launch = [&](const Copy& c, int blocks) { copy<8><<<blocks, 256, 0, stream>>>(c); };
  std::printf("%10s  %-34s%10s%10s\n", "bytes", "way", "median", "least");
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{4} << 20}) {
    const auto words = static_cast<std::uint32_t>(bytes / 16);
    const int blocks = static_cast<int>(std::clamp<std::size_t>(bytes / (256 * 16 * 2), 1, 264));
    std::vector<Way> ways{{"kernel, stream's state", false, false, false, false, {}},
                          {"kernel, word", false, true, false, false, {}},
                          {"graph, stream's state", true, false, false, false, {}},
                          {"graph, word", true, true, false, false, {}},
                          {"graph that writes, stream's state", true, false, false, true, {}},
                          {"graph that writes, word", true, true, false, true, {}},
                          {"copy engine, stream's state", false, false, true, false, {}}};
    std::vector<cudaGraphExec_t> graphs(ways.size());
    std::vector<Copy> copies(ways.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      auto* from = ways[i].writes ? here : there;
      auto* to = ways[i].writes ? there : here;
      copies[i] = {reinterpret_cast<const uint4*>(from),
                   reinterpret_cast<uint4*>(to),
                   words,
                   reinterpret_cast<std::uint32_t*>(counters),
                   ways[i].tells ? told : nullptr,
                   reinterpret_cast<const std::uint64_t*>(counters + 256)};
      if (!ways[i].graph) continue;
      cudaGraph_t graph;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      launch(copies[i], blocks);
      CHECK(cudaStreamEndCapture(stream, &graph));
      CHECK(cudaGraphInstantiate(&graphs[i], graph, 0));
    }
    for (int turn = 0; turn < turns + 100; ++turn) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        auto& way = ways[i];
        CHECK(cudaStreamSynchronize(stream));
        for (const auto rest = Clock::now(); since(rest) < 3;) {
        }
        const auto start = Clock::now();
        if (way.engine)
          CHECK(cudaMemcpyAsync(here, there, bytes, cudaMemcpyDeviceToDevice, stream));
        else if (way.graph)
          CHECK(cudaGraphLaunch(graphs[i], stream));
        else
          launch(copies[i], blocks);
        if (way.tells) {
          ++number;
          while (__atomic_load_n(told, __ATOMIC_ACQUIRE) < number) __builtin_ia32_pause();
        } else {
          while (cudaStreamQuery(stream) == cudaErrorNotReady) {
          }
        }
        if (turn >= 100) way.samples.push_back(since(start));
      }
    }
    for (auto& way : ways) {
      std::sort(way.samples.begin(), way.samples.end());
      std::printf("%10zu  %-34s%10.2f%10.2f\n", bytes, way.name.c_str(), way.samples[way.samples.size() / 2],
                  way.samples.front());
    }
  }
  return 0;
}
