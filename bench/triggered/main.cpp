// Half a round trip of messages in device memory between two ranks, or of a rank to itself: by the
// host (persistent requests, and a wait for the stream before each start), by a stream
// (include/dunnage.h), and by a graph of 20 legs that was captured from such a stream.
//
// bench_triggered [ROUNDS]. DUNNAGE_TRIGGER says how streams wait. Each rank uses the device of its
// number, as far as there are some. Writes one JSON object per line. The bytes of every way are
// verified. Exit status 0: done; 1: wrong bytes; 3: no GPU.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "common/cuda_driver.hpp"
#include "dunnage.h"

namespace {

using namespace bench;

int rank, ranks;
CUstream stream;

void ok(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

struct Shape {
  const char* name;
  int blocks, block, stride;  // bytes
  std::size_t span() const { return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(stride); }
};

unsigned char byte_of(std::size_t i, int from) { return static_cast<unsigned char>(i * 37 + i / 251 + 1 + from * 101); }

/// Messages there and back. Leg 0 goes from rank 0 to rank 1, leg 1 back.
class Legs {
 public:
  explicit Legs(const Shape& shape) : shape_(shape) {
    BENCH_CU(cuMemAlloc, &out_, shape.span());
    BENCH_CU(cuMemAlloc, &in_, shape.span());
    std::vector<unsigned char> bytes(shape.span());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_of(i, rank);
    upload(out_, bytes.data(), bytes.size());
    poison();
    MPI_Type_vector(shape.blocks, shape.block, shape.stride, MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~Legs() {
    MPI_Type_free(&type_);
    driver().cuMemFree(out_);
    driver().cuMemFree(in_);
  }
  Legs(const Legs&) = delete;
  Legs& operator=(const Legs&) = delete;

  std::vector<MPI_Request> requests(int leg) const {
    std::vector<MPI_Request> all;
    const int from = ranks > 1 ? leg : 0, to = ranks > 1 ? 1 - leg : 0;
    if (rank == to) {
      MPI_Recv_init(reinterpret_cast<void*>(in_), 1, type_, from, leg, MPI_COMM_WORLD, &all.emplace_back());
    }
    if (rank == from) {
      MPI_Send_init(reinterpret_cast<const void*>(out_), 1, type_, to, leg, MPI_COMM_WORLD, &all.emplace_back());
    }
    return all;
  }
  void poison() const {
    BENCH_CU(cuMemsetD8, in_, 0, shape_.span());
    BENCH_CU(cuCtxSynchronize);
  }
  bool right() const {
    std::vector<unsigned char> bytes(shape_.span());
    BENCH_CU(cuCtxSynchronize);
    BENCH_CU(cuMemcpyDtoH, bytes.data(), in_, bytes.size());
    const int from = ranks > 1 ? 1 - rank : 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const bool sent = static_cast<int>(i % static_cast<std::size_t>(shape_.stride)) < shape_.block;
      if (bytes[i] != (sent ? byte_of(i, from) : 0)) return false;
    }
    return true;
  }

 private:
  const Shape shape_;
  CUdeviceptr out_ = 0, in_ = 0;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

bool all_right = true;

/// `run` does `legs` legs and waits for their end.
void measure(const Legs& legs, const Shape& shape, const std::string& name, const char* why, int rounds, int legs_each,
             const std::function<void()>& run) {
  legs.poison();
  MPI_Barrier(MPI_COMM_WORLD);
  run();
  int right = legs.right(), everywhere = 0;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() /
                    legs_each);
  }
  right = right && legs.right();
  MPI_Allreduce(&right, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  all_right = all_right && everywhere;
  std::sort(times.begin(), times.end());
  if (rank == 0) {
    std::printf(
        "{\"record\":\"result\",\"ranks\":%d,\"shape\":\"%s\",\"way\":\"%s\",\"microseconds\":%.2f,\"least\":%.2f,"
        "\"most\":%.2f,\"verified\":%s,\"why\":\"%s\"}\n",
        ranks, shape.name, name.c_str(), times[times.size() / 2], times.front(), times.back(),
        everywhere ? "true" : "false", why);
    std::fflush(stdout);
  }
}

void run_shape(const Shape& shape, int rounds) {
  const Legs legs(shape);
  constexpr int round_trips = 10, legs_each = 2 * round_trips;
  {
    std::vector<MPI_Request> requests[2] = {legs.requests(0), legs.requests(1)};
    measure(legs, shape, "host", "persistent requests", rounds, legs_each, [&] {
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
  static const char* const names[] = {"mpi", "memory-operations", "kernels"};
  const auto leg = [&](int i) {
    ok(DNG_Start_enqueue(exchanges[i % 2], queue), "DNG_Start_enqueue");
    ok(DNG_Wait_enqueue(exchanges[i % 2], queue), "DNG_Wait_enqueue");
  };
  measure(legs, shape, std::string("stream, ") + names[way], why, rounds, legs_each, [&] {
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
    measure(legs, shape, "graph, kernels", why, rounds, legs_each, [&] {
      BENCH_CU(cuGraphLaunch, made, stream);
      BENCH_CU(cuStreamSynchronize, stream);
    });
    BENCH_CU(cuGraphExecDestroy, made);
  }
  BENCH_CU(cuGraphDestroy, graph);
  for (auto& exchange : exchanges) ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free");
  ok(DNG_Queue_free(&queue), "DNG_Queue_free");
}

}  // namespace

int main(int argc, char** argv) try {
  int devices = 0;
  CUcontext context{};
  BENCH_CU(cuInit, 0);
  BENCH_CU(cuDeviceGetCount, &devices);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 2) MPI_Abort(MPI_COMM_WORLD, 2);
  BENCH_CU(cuDevicePrimaryCtxRetain, &context, rank % devices);
  BENCH_CU(cuCtxSetCurrent, context);
  BENCH_CU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  for (const Shape& shape : {Shape{"8 B", 1, 8, 8}, Shape{"8 KiB", 1, 8192, 8192},
                             Shape{"1 MiB in blocks of 128 B", 8192, 128, 256}, Shape{"1 MiB", 1, 1 << 20, 1 << 20}})
    run_shape(shape, rounds);
  MPI_Finalize();
  return all_right ? 0 : 1;
} catch (const NoDevice& error) {
  std::fprintf(stderr, "bench_triggered: %s\n", error.what());
  return 3;
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_triggered: %s\n", error.what());
  return 2;
}
