// How fast a GPU reads a face of single doubles in the memory of another process' GPU, by the size
// of the allocation that the face is in. Needs two GPUs, and no MPI:
//
//   nvcc -O2 -std=c++17 -arch=native -o mapped_pages scripts/gpu/mapped_pages.cu && ./mapped_pages
//
// Two processes map each other's memory and read at the same time. Prints microseconds from launch
// to end: the median of eleven, of the slower process.
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <vector>

#include "probe.hpp"

namespace {

constexpr unsigned doubles = 562500, stride = 2416 / sizeof(double), threads = 256;
constexpr std::size_t large_page = 2 << 20, least = 655 * large_page;  // more than the face spans

__global__ void read_face(const double* from, double* to) {
  const auto i = blockIdx.x * threads + threadIdx.x;
  if (i < doubles) to[std::size_t{i} * stride] = from[std::size_t{i} * stride];
}

/// What the two processes share.
struct Shared {
  std::atomic<int> arrived[2] = {};
  cudaIpcMemHandle_t memory[2];
  double microseconds[2];
};

class Barrier {
 public:
  Barrier(Shared& shared, int self) : shared_(shared), self_(self) {}
  void operator()() {
    shared_.arrived[self_] = ++turn_;
    while (shared_.arrived[1 - self_] < turn_) usleep(0);
  }

 private:
  Shared& shared_;
  const int self_;
  int turn_ = 0;
};

double median_read(const double* from, double* to, Barrier& barrier) {
  using probe::Clock;
  std::vector<double> samples;
  for (int round = -2; round < 11; ++round) {
    barrier();
    const auto start = Clock::now();
    read_face<<<(doubles + threads - 1) / threads, threads>>>(from, to);
    CHECK(cudaDeviceSynchronize());
    if (round >= 0) samples.push_back(probe::since(start));
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

void measure(Shared& shared, int self, Barrier& barrier, std::size_t size) {
  double *mine = nullptr, *to = nullptr;
  void* theirs = nullptr;
  CHECK(cudaMalloc(&mine, size));
  CHECK(cudaMalloc(&to, size));
  CHECK(cudaIpcGetMemHandle(&shared.memory[self], mine));
  barrier();
  CHECK(cudaIpcOpenMemHandle(&theirs, shared.memory[1 - self], cudaIpcMemLazyEnablePeerAccess));
  shared.microseconds[self] = median_read(static_cast<double*>(theirs), to, barrier);
  barrier();
  if (self == 0)
    std::printf("%14zu%10zu%12.0f\n", size, size % large_page,
                std::max(shared.microseconds[0], shared.microseconds[1]));
  CHECK(cudaIpcCloseMemHandle(theirs));
  barrier();  // nobody maps what is freed
  CHECK(cudaFree(mine));
  CHECK(cudaFree(to));
}

}  // namespace

int main() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared;
  const int self = fork() == 0;
  CHECK(cudaSetDevice(self));
  Barrier barrier(shared, self);
  if (self == 0) std::printf("%14s%10s%12s\n", "bytes", "mod 2 MiB", "us");
  for (const std::size_t more : {0, 1 << 10, 4 << 10, 32 << 10, 60 << 10, 61 << 10, 64 << 10, 65 << 10, 128 << 10,
                                 512 << 10, 1000 << 10, 1024 << 10, 1088 << 10, 1984 << 10})
    measure(shared, self, barrier, least + more);
  std::fflush(stdout);
  if (self == 0) wait(nullptr);
  return 0;
}
