// How long a GPU takes for an empty kernel after it has had nothing to do for a while. Messages to
// late receivers have that time in them. Needs one GPU, and no MPI:
//
//   nvcc -O2 -std=c++17 -arch=native -o launch_after_rest scripts/gpu/launch_after_rest.cu && ./launch_after_rest
//
// The host computes meanwhile. Prints microseconds from the launch until the host knows of the
// kernel's end: the median of 21, least and most.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "probe.hpp"

namespace {

using probe::Clock, probe::since;

__global__ void empty() {}

double launch(cudaStream_t stream, cudaEvent_t end) {
  const auto start = Clock::now();
  empty<<<1, 32, 0, stream>>>();
  CHECK(cudaEventRecord(end, stream));
  while (cudaEventQuery(end) == cudaErrorNotReady) {
  }
  return since(start);
}

}  // namespace

int main() {
  cudaStream_t stream;
  cudaEvent_t end;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
  launch(stream, end);
  std::printf("%10s%10s%10s%10s\n", "rest, us", "median", "least", "most");
  for (const double rest : {0, 100, 1000, 3000, 10000, 30000}) {
    std::vector<double> samples;
    for (int i = 0; i < 21; ++i) {
      for (const auto start = Clock::now(); since(start) < rest;) {
      }
      samples.push_back(launch(stream, end));
    }
    std::sort(samples.begin(), samples.end());
    std::printf("%10.0f%10.1f%10.1f%10.1f\n", rest, samples[10], samples.front(), samples.back());
  }
  return 0;
}
