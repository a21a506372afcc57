// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw, MPI_Allgather, MPI_Gather, MPI_Scatter and
// reductions: the time of the slowest rank.
//
// `bytes` are those that one rank has for another, or that each rank has to be reduced. The limit
// is one copy of what the busiest rank receives or sends, or of one rank's data to be reduced: by
// the GPU's copy engine within one GPU, or by memcpy. Every operation's bytes are verified. Writes
// one JSON object per line. Exit status 0: done; 1: wrong bytes; 3: device memory was asked for and
// there is no GPU.
#include <mpi.h>

#include <algorithm>
#include <optional>

#include "collectives/operations.hpp"
#include "collectives/reductions.hpp"
#include "collectives/slowest.hpp"
#include "collectives/tell.hpp"
#include "common/command_line.hpp"
#include "common/record.hpp"
#include "cuda_aware/program.hpp"

namespace bench::collectives {
namespace {

struct Options {
  std::vector<std::int64_t> bytes{8, 1024, 65536, 1048576, 16777216, 67108864};
  std::string memory = "device", only;
  int each = 20;
};

/// Fills both buffers, calls, and looks at every byte.
bool right(const Operation& operation, Blocks& from, Blocks& to, int rank, int ranks) {
  std::vector<unsigned> out, in, empty(static_cast<std::size_t>(ranks), untouched);
  for (int peer = 0; peer < ranks; ++peer) {
    out.push_back(operation.number(rank, peer));
    in.push_back(operation.number(peer, rank));
  }
  from.fill(out);
  to.fill(empty);
  operation.call(from, to);
  return to.holds(in, untouched);
}

/// Likewise of a sum.
bool right(const Reduction& reduction, Doubles& from, Doubles& to, int rank, int count) {
  constexpr int calls_before = 8;  // then the ranks also know which GPU reads which
  for (int i = 0; i < calls_before && reduction.before; ++i) reduction.before(from.at(), to.at(), count);
  from.fill(rank);
  reduction.in_place ? to.fill(rank) : to.poison();
  reduction.call(from.at(), to.at(), count);
  return to.holds(reduction, rank, count);
}

/// Calls of an operation that move so many bytes each.
int calls_for(std::int64_t bytes, int most) {
  return static_cast<int>(std::clamp<std::int64_t>((512 << 20) / bytes, 3, most));
}

bool run(const Options& options, const Gpu* gpu) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::optional<Stream> stream;
  if (gpu) {
    gpu->make_current();
    stream.emplace();
  }
  if (rank == 0) print(header());
  bool all_right = true;
  for (const auto& operation : operations(rank, ranks)) {
    if (!options.only.empty() && operation.name != options.only) continue;
    for (const auto bytes : options.bytes) {
      const auto where = gpu ? Where::device : Where::host;
      Blocks from(where, ranks, bytes, operation.strided), to(where, ranks, bytes, operation.strided);
      const int verified = right(operation, from, to, rank, ranks);
      const int calls = calls_for(bytes * ranks, options.each);
      const auto seconds = measured(calls, [&] { operation.call(from, to); });
      const auto limit =
          measured(calls, [&] { copy(from.place(), to.place(), bytes * ranks, stream ? &*stream : nullptr); });
      all_right &= tell("bench_collectives", operation.name, options.memory, bytes, verified, seconds, limit);
    }
  }
  for (const auto& reduction : reductions(ranks)) {
    if (!options.only.empty() && reduction.name != options.only) continue;
    for (const auto bytes : options.bytes) {
      const auto where = gpu ? Where::device : Where::host;
      const int count = static_cast<int>(std::max<std::int64_t>(bytes / sizeof(double), ranks));
      Doubles from(where, count), to(where, count);
      const int verified = right(reduction, from, to, rank, count);
      const int calls = calls_for(bytes, options.each);
      const auto seconds = measured(calls, [&] { reduction.call(from.at(), to.at(), count); });
      const auto limit = measured(calls, [&] { copy(from.place(), to.place(), bytes, stream ? &*stream : nullptr); });
      all_right &= tell("bench_collectives", reduction.name, options.memory, bytes, verified, seconds, limit);
    }
  }
  return all_right;
}

}  // namespace
}  // namespace bench::collectives

int main(int argc, char** argv) {
  using namespace bench;
  collectives::Options options;
  CommandLine line("MPI_Alltoall, MPI_Allgather, MPI_Gather, MPI_Scatter and their kin, and reductions");
  line.numbers("--bytes", options.bytes,
               "bytes that one rank has for another, or to be reduced: less than 128, or a multiple of it");
  line.text("--memory", options.memory, "where the data are", {"device", "host"});
  line.text("--only", options.only, "only the operation of that name");
  line.number("--each", options.each, "calls of each operation");
  if (const auto status = line.read(argc, argv)) return *status;
  return run_program("bench_collectives", options.memory == "device", argc, argv,
                     [&](const Gpu* gpu) { return collectives::run(options, gpu); });
}
