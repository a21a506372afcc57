#include "by_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "common/record.hpp"
#include "dunnage.h"
#include "image.hpp"
#include "plan.hpp"

namespace triggered {

using namespace bench;

#if MPI_VERSION >= 4

namespace {

class Kernels {
 public:
  static const Kernels& all() {
    static const Kernels kernels;
    return kernels;
  }
  bool there() const { return trips_ && computes_ && computes_beside_; }
  /// Threads for 16 bytes each: a barrier of many threads takes longer than a short message.
  void trips(Trips plan, long bytes) const {
    launch(trips_, 1, static_cast<unsigned>(std::clamp((bytes + 15) / 16, 1L, 1024L)), &plan);
  }
  void compute(Overlap plan, unsigned blocks) const {
    launch(plan.senders ? computes_beside_ : computes_, blocks, 256, &plan);
  }
  /// Whether no kernel said that its exchange is broken.
  bool sound() const {
    int broken = 0;
    BENCH_CU(cuMemcpyDtoH, &broken, memory_, sizeof broken);
    return broken == 0;
  }
  int* broken() const { return reinterpret_cast<int*>(memory_); }
  float* result() const { return reinterpret_cast<float*>(memory_ + 8); }

 private:
  Kernels() {
    BENCH_CU(cuMemAlloc, &memory_, 16);
    BENCH_CU(cuMemsetD8, memory_, 0, 16);
    trips_ = kernel_of("round_trips");
    computes_ = kernel_of("compute_and_send");
    computes_beside_ = kernel_of("compute_while_warps_send");
  }
  static void launch(CUfunction kernel, unsigned blocks, unsigned threads, void* plan) {
    BENCH_CU(cuLaunchKernel, kernel, blocks, 1, 1, threads, 1, 1, 0, stream, &plan, nullptr);
  }
  CUfunction trips_{}, computes_{}, computes_beside_{};
  CUdeviceptr memory_ = 0;
};

/// An exchange of partitioned messages.
struct Partitioned {
  Partitioned(const Legs& legs, int partitions, MPI_Datatype type, bool receives, bool sends, int from, int to) {
    std::vector<MPI_Request> requests;
    if (receives)
      ok(MPI_Precv_init(legs.in(), partitions, 1, type, Legs::other(), from, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests.emplace_back()),
         "MPI_Precv_init");
    if (sends)
      ok(MPI_Psend_init(legs.out(), partitions, 1, type, Legs::other(), to, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests.emplace_back()),
         "MPI_Psend_init");
    send = static_cast<int>(requests.size()) - 1;
    ok(DNG_Match(static_cast<int>(requests.size()), requests.data(), &exchange), "DNG_Match");
    DNG_Exchange_query(exchange, nullptr, &why);
    int mine = DNG_Exchange_device(exchange, &device) == MPI_SUCCESS;
    MPI_Allreduce(&mine, &usable, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  ~Partitioned() { ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free"); }
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;

  DNG_Exchange exchange{};
  DNG_Device device{};
  const char* why = "";
  int send = 0;  // the place of the request that sends
  int usable = 0;
};

}  // namespace

void trips_by_kernel(const Legs& legs, int rounds) {
  const auto& kernels = Kernels::all();
  if (!kernels.there()) return skip("kernel", "no compiled kernels");
  constexpr int legs_each = 200;
  const bool alone = ranks == 1;
  const Partitioned out(legs, 1, legs.type(), alone || rank == 1, alone || rank == 0, 0, 0);
  const Partitioned in(legs, 1, legs.type(), alone || rank == 0, alone || rank == 1, 1, 1);
  if (!out.usable || !in.usable) return skip("kernel", out.why);
  const Partitioned &sends = alone || rank == 0 ? out : in, &receives = alone || rank == 0 ? in : out;
  measure(legs, "kernel", out.why, rounds, legs_each, [&] {
    kernels.trips({sends.device, alone ? sends.device : receives.device, rank == 0, legs_each, kernels.broken()},
                  long{legs.shape().blocks} * legs.shape().block);
    BENCH_CU(cuStreamSynchronize, stream);
  });
  if (!kernels.sound()) all_right = false;
}

namespace {

/// Prints when some blocks of a kernel computed and sent their partitions, in microseconds since
/// the first began. `times`: as Overlap::trace has them.
void print_timeline(const Shape& shape, int partitions, int blocks, int senders,
                    const std::vector<unsigned long long>& times) {
  constexpr int lines = 16;
  auto timeline = nlohmann::json::array();
  const auto begin = *std::min_element(times.begin(), times.end());
  const int together = std::max(senders, 1);
  for (int p = 0; p < partitions; ++p) {
    const int block = p / together % blocks;
    if (block % std::max(blocks / lines, 1) != 0) continue;
    auto one = nlohmann::json::array({block});
    for (std::size_t i = 0; i < 4; ++i)
      one.push_back(static_cast<double>(times[4 * static_cast<std::size_t>(p) + i] - begin) / 1000);
    timeline.push_back(one);
  }
  bench::print({{"record", "timeline"},
                {"shape", shape.name},
                {"partitions", partitions},
                {"blocks", blocks},
                {"senders", senders},
                {"times", timeline}});
}

}  // namespace

void overlap(const Legs& legs, int partitions, int blocks_of_kernel, int senders, int rounds) {
  const auto& kernels = Kernels::all();
  if (!kernels.there()) return skip("overlap", "no compiled kernels");
  const Shape& shape = legs.shape();
  MPI_Datatype blocks, partition;
  const int each = shape.blocks / partitions;
  MPI_Type_vector(each, shape.block, shape.stride, MPI_BYTE, &blocks);
  MPI_Type_create_resized(blocks, 0, MPI_Aint{each} * shape.stride, &partition);
  MPI_Type_commit(&partition);
  {
    const Partitioned both(legs, partitions, partition, true, true, 7, 7);
    if (both.usable) {
      DNG_Queue queue = DNG_QUEUE_NULL;
      ok(DNG_Queue_create(stream, &queue), "DNG_Queue_create");
      const auto step = [&](bool sends, int loops, unsigned long long* trace = nullptr) {
        if (sends) ok(DNG_Start_enqueue(both.exchange, queue), "DNG_Start_enqueue");
        kernels.compute(
            {both.device, both.send, partitions, loops, sends, senders, kernels.broken(), kernels.result(), trace},
            static_cast<unsigned>(blocks_of_kernel));
        if (sends) ok(DNG_Wait_enqueue(both.exchange, queue), "DNG_Wait_enqueue");
      };
      /// Median microseconds of a step.
      const auto timed = [&](bool sends, int loops, int times) {
        std::vector<double> all;
        for (int i = 0; i < times; ++i) {
          constexpr int steps = 4;
          MPI_Barrier(MPI_COMM_WORLD);
          const auto begin = std::chrono::steady_clock::now();
          for (int k = 0; k < steps; ++k) step(sends, loops);
          BENCH_CU(cuStreamSynchronize, stream);
          all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() /
                        steps);
        }
        std::sort(all.begin(), all.end());
        double median = all[all.size() / 2], slowest = 0;
        MPI_Allreduce(&median, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return slowest;
      };
      const double transfer = timed(true, 0, rounds);
      // As much computation as there is transfer.
      int loops = 1000;
      for (int i = 0; i < 4; ++i)
        loops = std::max(1, static_cast<int>(std::lround(loops * transfer / timed(false, loops, 9))));
      const double computation = timed(false, loops, rounds);
      legs.poison();
      MPI_Barrier(MPI_COMM_WORLD);
      const double together = timed(true, loops, rounds);
      std::vector<unsigned long long> times(4 * static_cast<std::size_t>(partitions));
      const auto bytes = times.size() * sizeof times[0];
      CUdeviceptr trace = 0;
      BENCH_CU(cuMemAlloc, &trace, bytes);
      MPI_Barrier(MPI_COMM_WORLD);
      step(true, loops, reinterpret_cast<unsigned long long*>(trace));
      BENCH_CU(cuStreamSynchronize, stream);
      BENCH_CU(cuMemcpyDtoH, times.data(), trace, bytes);
      BENCH_CU(cuMemFree, trace);
      if (rank == 0) print_timeline(shape, partitions, blocks_of_kernel, senders, times);
      int right = legs.right() && kernels.sound(), everywhere = 0;
      MPI_Allreduce(&right, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      all_right = all_right && everywhere;
      if (rank == 0)
        std::printf(
            "{\"record\":\"overlap\",\"ranks\":%d,\"shape\":\"%s\",\"partitions\":%d,\"blocks\":%d,\"senders\":%d,"
            "\"transfer\":%.1f,"
            "\"computation\":%.1f,\"both\":%.1f,\"hidden\":%.3f,\"verified\":%s}\n",
            ranks, shape.name.c_str(), partitions, blocks_of_kernel, senders, transfer, computation, together,
            (transfer + computation - together) / transfer, everywhere ? "true" : "false");
      ok(DNG_Queue_free(&queue), "DNG_Queue_free");
    } else {
      skip("overlap", both.why);
    }
  }
  MPI_Type_free(&partition);
  MPI_Type_free(&blocks);
}

#else

namespace {
void skip_way(const char* way) { skip(way, "the MPI has no partitioned communication"); }
}  // namespace

void trips_by_kernel(const Legs&, int) { skip_way("kernel"); }
void overlap(const Legs&, int, int, int, int) { skip_way("overlap"); }

#endif

}  // namespace triggered
