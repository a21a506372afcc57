// How long GPUs take that all read from all others at the same time, each from the next one first:
// by their copy engines or by one kernel each, beside one copy of as many bytes from the next GPU.
// Needs two to eight GPUs that reach each other, and no MPI:
//
//   nvcc -O3 -std=c++20 -arch=native -o read_from_several scripts/gpu/read_from_several.cu
//   ./read_from_several
//
// One thread for each GPU. "late": each begins 20 us after the one before. Prints microseconds
// until the host of the slowest GPU knows of the end: the median of 25, and the least.
#include <cuda_runtime.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "probe.hpp"

namespace {

using probe::Clock;
constexpr int most_gpus = 8, most_streams = 4, turns = 25;

struct Parts {
  const uint4* from[most_gpus];
  uint4* to[most_gpus];
  int count;
  std::size_t words, chunk;  // of each part
};

/// Chunks of all parts in turn.
__global__ void read(Parts parts) {
  const auto chunks = (parts.words + parts.chunk - 1) / parts.chunk, all = chunks * parts.count;
  for (std::size_t one = blockIdx.x; one < all; one += gridDim.x) {
    const auto part = one % parts.count;
    const auto begin = one / parts.count * parts.chunk, end = min(begin + parts.chunk, parts.words);
    const auto* from = parts.from[part];
    auto* to = parts.to[part];
    const std::size_t step = blockDim.x;
    auto i = begin + threadIdx.x;
    for (; i + 3 * step < end; i += 4 * step) {
      const uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
      to[i] = a;
      to[i + step] = b;
      to[i + 2 * step] = c;
      to[i + 3 * step] = d;
    }
    for (; i < end; i += step) to[i] = from[i];
  }
}

struct Gpu {
  char *sent = nullptr, *received = nullptr;
  cudaStream_t streams[most_streams];
};

enum class By { one_copy, engines, kernel };
struct Way {
  const char* name;
  By by;
  int streams;
  bool lowest_first, late;
};
constexpr Way ways[] = {{"one copy", By::one_copy, 1, false, false},
                        {"copies, two streams", By::engines, 2, false, false},
                        {"copies, four streams", By::engines, 4, false, false},
                        {"copies, lowest first", By::engines, 2, true, false},
                        {"copies, late", By::engines, 2, false, true},
                        {"kernel", By::kernel, 1, false, false},
                        {"kernel, late", By::kernel, 1, false, true}};

void begin(const Way& way, const std::vector<Gpu>& gpus, int me, std::size_t bytes) {
  const int count = static_cast<int>(gpus.size());
  const auto& here = gpus[me];
  const auto copy = [&](char* to, const char* from, std::size_t n, int stream) {
    CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, here.streams[stream]));
  };
  if (way.by == By::one_copy) return copy(here.received, gpus[(me + 1) % count].sent, bytes * (count - 1), 0);
  Parts parts{};
  for (int k = 1; k < count; ++k) {
    const int peer = way.lowest_first ? (k - 1 < me ? k - 1 : k) : (me + k) % count;
    const char* from = gpus[peer].sent + me * bytes;
    char* to = here.received + peer * bytes;
    if (way.by == By::engines) copy(to, from, bytes, (k - 1) % way.streams);
    parts.from[parts.count] = reinterpret_cast<const uint4*>(from);
    parts.to[parts.count++] = reinterpret_cast<uint4*>(to);
  }
  if (way.by == By::engines) return;
  constexpr unsigned blocks = 264, threads = 1024;
  parts.words = bytes / sizeof(uint4);
  parts.chunk = std::clamp<std::size_t>(parts.words * parts.count / blocks, threads, 16 * threads);
  read<<<blocks, threads, 0, here.streams[0]>>>(parts);
  CHECK(cudaGetLastError());
}

void measure(const Way& way, const std::vector<Gpu>& gpus, std::size_t bytes) {
  std::vector<std::vector<double>> spent(gpus.size());
  std::barrier together(static_cast<std::ptrdiff_t>(gpus.size()));
  std::vector<std::thread> threads;
  for (int me = 0; me < static_cast<int>(gpus.size()); ++me)
    threads.emplace_back([&, me] {
      CHECK(cudaSetDevice(me));
      for (int turn = 0; turn < turns; ++turn) {
        together.arrive_and_wait();
        const auto start = Clock::now();
        while (way.late && Clock::now() - start < std::chrono::microseconds(20 * me)) {
        }
        begin(way, gpus, me, bytes);
        for (const auto stream : gpus[me].streams)
          while (cudaStreamQuery(stream) == cudaErrorNotReady) {
          }
        spent[me].push_back(probe::since(start));
      }
    });
  for (auto& thread : threads) thread.join();
  std::vector<double> slowest;
  for (int turn = 0; turn < turns; ++turn) {
    slowest.push_back(0);
    for (const auto& one : spent) slowest.back() = std::max(slowest.back(), one[turn]);
  }
  std::sort(slowest.begin(), slowest.end());
  std::printf("%9zu %-22s %8.1f %8.1f\n", bytes, way.name, slowest[turns / 2], slowest[0]);
}

}  // namespace

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  count = std::min(count, most_gpus);
  constexpr std::size_t most = 64 << 20;
  std::vector<Gpu> gpus(count);
  for (int me = 0; me < count; ++me) {
    CHECK(cudaSetDevice(me));
    for (int peer = 0; peer < count; ++peer)
      if (peer != me) CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    CHECK(cudaMalloc(&gpus[me].sent, most * count));
    CHECK(cudaMalloc(&gpus[me].received, most * count));
    for (auto& stream : gpus[me].streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  std::printf("%9s %-22s %8s %8s\n", "bytes", "each from each other", "median", "least");
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{8} << 20, most})
    for (const auto& way : ways) measure(way, gpus, bytes);
}
