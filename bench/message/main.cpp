// Ping-pongs of two ranks, through the preloaded library (MPI_) and past it (BENCH_PAST). The two
// take turns call by call, so that noise hits both alike. Writes one JSON object per line; see
// docs/guide/benchmarks.md.
//
//   bench_message [--most BYTES] [--repetitions N]
//
// Patterns:
//   contiguous       one MPI_Send and one MPI_Recv each way
//   send strided     every other double sent, contiguous data received, an empty answer
//   both strided     every other double on both sides
//   rows of N bytes  longer blocks on both sides, blocking
//   call             MPI_Pack of 8 contiguous bytes in a loop, the cheapest call that the preloaded
//                    library sees
// The first three are measured blocking and nonblocking.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "common/past.hpp"
#include "common/record.hpp"
#include "common/two_ranks.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Samples = std::vector<double>;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Functions {
  decltype(&MPI_Send) send;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Pack) pack;
};
const Functions through{MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Wait, MPI_Pack};
const Functions past{BENCH_PAST(MPI_Send),  BENCH_PAST(MPI_Recv), BENCH_PAST(MPI_Isend),
                     BENCH_PAST(MPI_Irecv), BENCH_PAST(MPI_Wait), BENCH_PAST(MPI_Pack)};

void print_result(const std::string& pattern, long bytes, const Samples& plain, const Samples& dunnage, bool right) {
  nlohmann::json record = {{"record", "result"}, {"pattern", pattern}, {"bytes", bytes}};
  record["series"] = {{"plain", bench::to_json(plain)}, {"dunnage", bench::to_json(dunnage)}};
  record["series"]["dunnage"]["verified"] = right;
  bench::print(record);
}

/// One side of a series: the datatype and what is sent or received.
struct Side {
  MPI_Datatype type;
  int count;
  double* buffer;
};

/// Does one ping-pong on both ranks. `answer` bytes come back.
void ping_pong(const Functions& f, int rank, const Side& send, const Side& recv, bool nonblocking, int answer) {
  char back[8] = {};
  MPI_Request request;
  if (rank == 0) {
    if (nonblocking) {
      f.isend(send.buffer, send.count, send.type, 1, 0, MPI_COMM_WORLD, &request);
      f.wait(&request, MPI_STATUS_IGNORE);
    } else {
      f.send(send.buffer, send.count, send.type, 1, 0, MPI_COMM_WORLD);
    }
    f.recv(back, answer, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    if (nonblocking) {
      f.irecv(recv.buffer, recv.count, recv.type, 0, 0, MPI_COMM_WORLD, &request);
      f.wait(&request, MPI_STATUS_IGNORE);
    } else {
      f.recv(recv.buffer, recv.count, recv.type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    f.send(back, answer, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

/// Alternates batches of ping-pongs. On rank 0 the samples get the seconds of a ping-pong.
void alternate(int rank, const Side& send, const Side& recv, bool nonblocking, int answer, int repetitions, int batch,
               Samples& plain, Samples& dunnage) {
  for (int r = -2; r < repetitions; ++r)
    for (int k = 0; k < 2; ++k) {
      const bool preloaded = (r + k) % 2 == 0;
      MPI_Barrier(MPI_COMM_WORLD);
      const auto start = Clock::now();
      for (int i = 0; i < batch; ++i) ping_pong(preloaded ? through : past, rank, send, recv, nonblocking, answer);
      const auto seconds = since(start) / batch;
      if (r >= 0) (preloaded ? dunnage : plain).push_back(seconds);
    }
}

/// Measures one series. Returns whether the bytes were right on both ranks.
bool series(const std::string& pattern, int rank, long bytes, int block, bool strided_send, bool strided_recv,
            bool nonblocking, int repetitions) {
  const auto n = static_cast<int>(bytes / 8);
  std::vector<double> from(static_cast<std::size_t>(2 * n), 0), to(static_cast<std::size_t>(2 * n), -1);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
  MPI_Datatype strided;
  MPI_Type_vector(n / block, block, 2 * block, MPI_DOUBLE, &strided);
  MPI_Type_commit(&strided);
  const Side send = strided_send ? Side{strided, 1, from.data()} : Side{MPI_DOUBLE, n, from.data()};
  const Side recv = strided_recv ? Side{strided, 1, to.data()} : Side{MPI_DOUBLE, n, to.data()};
  Samples plain, dunnage;
  const int batch = static_cast<int>(std::clamp(400000L / (bytes + 400), 1L, 200L));
  const int answer = strided_send || strided_recv ? 0 : 8;
  alternate(rank, send, recv, nonblocking, answer, repetitions, batch, plain, dunnage);
  // One more exchange through the preloaded library decides whether the bytes are right.
  std::fill(to.begin(), to.end(), -1);
  ping_pong(through, rank, send, recv, nonblocking, 0);
  bool right = true;
  const auto place = [block](bool is_strided, int i) { return is_strided ? i + i / block * block : i; };
  if (rank == 1)
    for (int i = 0; i < n; ++i)
      right = right && to[static_cast<std::size_t>(place(strided_recv, i))] == place(strided_send, i);
  MPI_Bcast(&right, 1, MPI_C_BOOL, 1, MPI_COMM_WORLD);
  if (rank == 0) print_result(pattern, bytes, plain, dunnage, right);
  MPI_Type_free(&strided);
  return right;
}

/// Measures what passing a contiguous call through costs, with the call that itself costs least.
void one_call(int rank, int repetitions) {
  constexpr int calls = 20000;
  double value = 1;
  char packed[8];
  Samples plain, dunnage;
  for (int r = -2; r < repetitions; ++r)
    for (int k = 0; k < 2; ++k) {
      const bool preloaded = (r + k) % 2 == 0;
      const auto pack = (preloaded ? through : past).pack;
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) {
        int position = 0;
        pack(&value, 1, MPI_DOUBLE, packed, sizeof packed, &position, MPI_COMM_WORLD);
      }
      if (r >= 0) (preloaded ? dunnage : plain).push_back(since(start) / calls);
    }
  if (rank == 0) print_result("call", sizeof value, plain, dunnage, true);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bench::CommandLine line("Ping-pongs with and without Dunnage");
  int repetitions = 41;
  long most = 4 << 20;
  line.number("--repetitions", repetitions, "number of samples of each series");
  line.number("--most", most, "largest payload in bytes");
  if (const auto code = bench::begin_on_two_ranks(line, argc, argv, "bench_message")) return *code;
  if (rank == 0) bench::print(bench::header());
  one_call(rank, repetitions);
  bool right = true;
  for (long bytes = 8; bytes <= most; bytes *= 8)
    right &= series("contiguous", rank, bytes, 1, false, false, false, repetitions);
  for (const bool nonblocking : {false, true})
    for (long bytes = 64; bytes <= most; bytes *= 4) {
      const std::string suffix = nonblocking ? ", nonblocking" : "";
      right &= series("send strided" + suffix, rank, bytes, 1, true, false, nonblocking, repetitions);
      right &= series("both strided" + suffix, rank, bytes, 1, true, true, nonblocking, repetitions);
    }
  for (const int block : {8, 128})
    for (long bytes = 4096; bytes <= most; bytes *= 4)
      right &=
          series("rows of " + std::to_string(8 * block) + " bytes", rank, bytes, block, true, true, false, repetitions);
  MPI_Finalize();
  return right ? 0 : 1;
}
