#include "cuda_aware/ceilings.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "common/record.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Copies = std::function<void()>;  // puts copies into streams

struct Copying {
  const char* memory;
  Operation operation;
  std::size_t bytes;
  int window;
};

void print_copies(const Copying& what, const Effort& effort, const std::vector<const Stream*>& streams,
                  const Copies& copies) {
  const auto timed = [&] {
    const auto start = Clock::now();
    for (int k = 0; k < what.window; ++k) copies();
    for (const Stream* stream : streams) stream->wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double took = 0;
  for (int i = 0; i < 3; ++i) took = timed();
  std::vector<double> samples;
  for (int n = repetitions(effort, took); n > 0; --n) samples.push_back(timed());
  print({{"record", "result"},
         {"memory", what.memory},
         {"pattern", name(what.operation)},
         {"bytes", what.bytes},
         {"block", 0},
         {"window", what.window},
         {"buffers", "reused"},
         {"seconds", quantiles(std::move(samples))}});
}

}  // namespace

void print_ceilings(const Gpu& gpu, int other_rank, const std::vector<std::size_t>& sizes, int window, std::size_t most,
                    const Effort& effort) {
  const Gpu other(other_rank);
  const Memory there_from(Where::device, most), there_to(Where::device, most);
  other.reach(gpu);
  const Stream back;  // the other GPU's stream: its own engine writes to this GPU
  gpu.reach(other);
  gpu.make_current();
  const Memory here_from(Where::device, most), here_to(Where::device, most), host(Where::host, most);
  const Pinned pinned(host);
  const Stream stream;

  const auto d = [](const Memory& memory) { return memory.place().device(); };
  for (const std::size_t bytes : sizes) {
    if (bytes > most) continue;
    const auto forth_copy = [&] {
      BENCH_CU(cuMemcpyPeerAsync, d(there_to), other.context(), d(here_from), gpu.context(), bytes, stream.get());
    };
    const auto both_copies = [&] {
      forth_copy();
      BENCH_CU(cuMemcpyPeerAsync, d(here_to), gpu.context(), d(there_from), other.context(), bytes, back.get());
    };
    const auto down = [&] { BENCH_CU(cuMemcpyDtoHAsync, host.place().at, d(here_from), bytes, stream.get()); };
    const auto up = [&] { BENCH_CU(cuMemcpyHtoDAsync, d(here_to), host.place().at, bytes, stream.get()); };
    // A message costs at least one copy and the wait for it.
    print_copies({"copy engine", Operation::latency, bytes, 1}, effort, {&stream}, forth_copy);
    for (const int length : std::set{1, window}) {
      print_copies({"copy engine", Operation::one_way, bytes, length}, effort, {&stream}, forth_copy);
      print_copies({"copy engine", Operation::both_ways, bytes, length}, effort, {&stream, &back}, both_copies);
      print_copies({"device to pinned", Operation::one_way, bytes, length}, effort, {&stream}, down);
      print_copies({"pinned to device", Operation::one_way, bytes, length}, effort, {&stream}, up);
    }
  }
}

}  // namespace bench
