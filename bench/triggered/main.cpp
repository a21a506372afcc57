// Half a round trip of messages in device memory between two ranks, or of a rank to itself: by the
// host (persistent requests, and a wait for the stream before each start), by a stream
// (include/dunnage.h), by a graph of 20 legs that was captured from such a stream, and by a kernel
// that does 200 legs (include/dunnage_device.cuh; an MPI with partitioned communication). Then how
// much of the time of a transfer is hidden behind computation if a kernel sends each partition as
// soon as it has computed it. NVSHMEM's messages beside, if there is its library.
//
// DUNNAGE_TRIGGER says how streams wait; with `proxy` the MPI is told that threads call it. Each
// rank uses the device of its number, as far as there are some. Writes one JSON object per line.
// The bytes of every way are verified. Exit status 0: done; 1: wrong bytes; 3: no GPU.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare.hpp"
#include "by_kernel.hpp"
#include "by_nvshmem.hpp"
#include "common/command_line.hpp"
#include "common/cuda_driver.hpp"
#include "common/record.hpp"
#include "dunnage.h"
#include "trips.hpp"

namespace {

using namespace bench;
using namespace triggered;

void run_shape(const Legs& legs, int rounds) {
  constexpr int round_trips = 10, legs_each = 2 * round_trips;
  {
    std::vector<MPI_Request> requests[2] = {legs.requests(0), legs.requests(1)};
    measure(legs, "host", "persistent requests", rounds, legs_each, [&] {
      for (int i = 0; i < legs_each; ++i) {
        auto& all = requests[i % 2];
        BENCH_CU(cuStreamSynchronize, stream);
        MPI_Startall(static_cast<int>(all.size()), all.data());
        MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
      }
    });
    for (auto& all : requests)
      for (auto& request : all) MPI_Request_free(&request);
  }
  DNG_Queue queue = DNG_QUEUE_NULL;
  DNG_Exchange exchanges[2] = {};
  ok(DNG_Queue_create(stream, &queue), "DNG_Queue_create");
  for (int i = 0; i < 2; ++i) {
    auto requests = legs.requests(i);
    ok(DNG_Match(static_cast<int>(requests.size()), requests.data(), &exchanges[i]), "DNG_Match");
  }
  int way = 0;
  const char* why = "";
  ok(DNG_Exchange_query(exchanges[0], &way, &why), "DNG_Exchange_query");
  static const char* const names[] = {"mpi", "memory-operations", "kernels", "proxy"};
  const auto leg = [&](int i) {
    ok(DNG_Start_enqueue(exchanges[i % 2], queue), "DNG_Start_enqueue");
    ok(DNG_Wait_enqueue(exchanges[i % 2], queue), "DNG_Wait_enqueue");
  };
  measure(legs, std::string("stream, ") + names[way], why, rounds, legs_each, [&] {
    for (int i = 0; i < legs_each; ++i) leg(i);
    BENCH_CU(cuStreamSynchronize, stream);
  });
  CUgraph graph{};
  BENCH_CU(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  int possible = DNG_Start_enqueue(exchanges[0], queue) == MPI_SUCCESS, everywhere = 0;
  if (possible) {
    ok(DNG_Wait_enqueue(exchanges[0], queue), "DNG_Wait_enqueue");
    for (int i = 1; i < legs_each; ++i) leg(i);
  }
  BENCH_CU(cuStreamEndCapture, stream, &graph);
  MPI_Allreduce(&possible, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere) {
    CUgraphExec made{};
    BENCH_CU(cuGraphInstantiate, &made, graph, 0);
    measure(legs, "graph, kernels", why, rounds, legs_each, [&] {
      BENCH_CU(cuGraphLaunch, made, stream);
      BENCH_CU(cuStreamSynchronize, stream);
    });
    BENCH_CU(cuGraphExecDestroy, made);
  }
  BENCH_CU(cuGraphDestroy, graph);
  for (auto& exchange : exchanges) ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free");
  ok(DNG_Queue_free(&queue), "DNG_Queue_free");
  trips_by_kernel(legs, rounds);
  trips_by_bare_operations(legs, rounds);
}

struct Options {
  int rounds = 200;
  int overlap = 256;
  std::string nvshmem;
};

std::optional<int> read(int argc, char** argv, Options& o) {
  bench::CommandLine line("Messages that streams, graphs and kernels start");
  line.number("--rounds", o.rounds, "how often each way is measured", 1);
  line.number("--overlap", o.overlap, "MiB that a kernel sends while it computes, an even number; 0: none", 0, 1024);
  line.text("--nvshmem", o.nvshmem, "libbench-nvshmem.so, whose messages are measured beside");
  return line.read(argc, argv);
}

void run_overlaps(const Options& o, bool shared) {
  const int mebibyte = 1 << 20, parts = 16384;
  const auto whole = std::to_string(o.overlap) + " MiB", pieces = whole + " in blocks of 128 B";
  for (const Shape& shape : {Shape{whole, parts, o.overlap * (mebibyte / parts), o.overlap * (mebibyte / parts)},
                             Shape{pieces, o.overlap * (mebibyte / 128), 128, 256}}) {
    const Legs legs(shape);
    for (const int blocks : {256, 1024}) {
      if (shared && blocks > 256) continue;
      for (const int partitions : {1024, 4096}) overlap(legs, partitions, blocks, 0, o.rounds / 4 + 1);
      for (const int senders : {1, 2}) overlap(legs, 16 * blocks, blocks, senders, o.rounds / 4 + 1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  if (const auto status = read(argc, argv, o)) return *status;
  if (o.overlap % 2) throw std::invalid_argument("--overlap must be an even number");
  int devices = 0;
  CUcontext context{};
  BENCH_CU(cuInit, 0);
  BENCH_CU(cuDeviceGetCount, &devices);
  const char* trigger = std::getenv("DUNNAGE_TRIGGER");
  const bool by_proxy = trigger && std::string(trigger) == "proxy";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, by_proxy ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 2) MPI_Abort(MPI_COMM_WORLD, 2);
  BENCH_CU(cuDevicePrimaryCtxRetain, &context, rank % devices);
  BENCH_CU(cuCtxSetCurrent, context);
  own_device = devices >= ranks;
  // With a lower one its kernels wait until the last block of a kernel before them has begun.
  constexpr int greatest_priority = std::numeric_limits<int>::min();
  BENCH_CU(cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, greatest_priority);
  if (rank == 0) bench::print(bench::header());
  const std::vector<Shape> shapes{{"8 B", 1, 8, 8},
                                  {"8 KiB", 1, 8192, 8192},
                                  {"1 MiB in blocks of 128 B", 8192, 128, 256},
                                  {"1 MiB", 1, 1 << 20, 1 << 20}};
  for (const auto& shape : shapes) run_shape(Legs(shape), o.rounds);
  if (o.overlap > 0) run_overlaps(o, !own_device);
  if (!o.nvshmem.empty()) trips_by_nvshmem(o.nvshmem, shapes, o.rounds);
  MPI_Finalize();
  return all_right ? 0 : 1;
} catch (const NoDevice& error) {
  std::fprintf(stderr, "bench_triggered: %s\n", error.what());
  return 3;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_triggered: %s\n", error.what());
  return 2;
}
