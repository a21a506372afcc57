// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw, MPI_Allgather, MPI_Gather, MPI_Scatter and
// reductions: the time of the slowest rank.
//
// `bytes` are those that one rank has for another, or that each rank has to be reduced. The limit
// is one copy of what the busiest rank sends or receives, or of one rank's data to be reduced
// (limit.hpp). NCCL does the operations beside, if `--nccl` names its library and each rank has a
// GPU. Every operation's bytes are verified. Writes one JSON object per line. Exit status 0: done;
// 1: wrong bytes; 3: device memory was asked for and there is no GPU.
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "collectives/busiest.hpp"
#include "collectives/by_nccl.hpp"
#include "collectives/limit.hpp"
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
  std::string memory = "device", only, nccl;
  int each = 20;
};

/// Fills both buffers, calls, and looks at every byte.
template <class Call>
bool right(const Operation& operation, Call&& call, Blocks& from, Blocks& to, int rank, int ranks) {
  std::vector<unsigned> out, in, empty(static_cast<std::size_t>(ranks), untouched);
  for (int peer = 0; peer < ranks; ++peer) {
    out.push_back(operation.number(rank, peer));
    in.push_back(operation.number(peer, rank));
  }
  from.fill(out);
  to.fill(operation.in_place ? out : empty);
  call(from, to);
  return to.holds(in, untouched);
}

/// Likewise of a sum.
template <class Call>
bool right(const Reduction& reduction, Call&& call, Doubles& from, Doubles& to, int rank, int count) {
  from.fill(rank);
  reduction.in_place ? to.fill(rank) : to.poison();
  call(from.at(), to.at(), count);
  return to.holds(reduction, rank, count);
}

/// NCCL, or null if it was not asked for or a rank cannot use it.
std::unique_ptr<NcclComm> open_nccl(const std::string& library, int rank, int ranks) {
  if (library.empty()) return nullptr;
  try {
    return std::make_unique<NcclComm>(library, rank, ranks);
  } catch (const std::runtime_error& error) {
    if (rank == 0) print({{"record", "note"}, {"nccl", error.what()}});
    return nullptr;
  }
}

/// Measures one operation after the other.
class Bench {
 public:
  Bench(const Options& options, const Gpu* gpu) : options_(options), gpu_(gpu) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (rank_ == 0) print(header());
    if (!gpu) return;
    gpu->make_current();
    stream_.emplace();
    nccl_comm_ = open_nccl(options.nccl, rank_, ranks_);
    if (nccl_comm_) nccl_.emplace(Nccl{*nccl_comm_, *stream_, rank_, ranks_});
  }

  /// Returns whether all bytes were right.
  bool run() {
    bool all_right = true;
    for (const auto& operation : operations(rank_, ranks_))
      if (wanted(operation.name))
        for (const auto bytes : options_.bytes) all_right &= measure(operation, bytes);
    for (const auto& reduction : reductions(ranks_))
      if (wanted(reduction.name))
        for (const auto bytes : options_.bytes) all_right &= measure(reduction, bytes);
    return all_right;
  }

 private:
  bool wanted(const std::string& name) const { return options_.only.empty() || name == options_.only; }
  Where where() const { return gpu_ ? Where::device : Where::host; }

  bool measure(const Operation& operation, std::int64_t bytes) {
    Blocks from(where(), ranks_, bytes, operation.strided), to(where(), ranks_, bytes, operation.strided);
    return measure(operation, nccl_ ? by_nccl(*nccl_, operation.name) : nullptr, from, to, ranks_, bytes,
                   bytes * std::max(blocks_of_busiest(operation.number, ranks_), 1));
  }
  bool measure(const Reduction& reduction, std::int64_t bytes) {
    const int count = static_cast<int>(std::max<std::int64_t>(bytes / sizeof(double), ranks_));
    Doubles from(where(), count), to(where(), count);
    constexpr int calls_before = 8;  // then the ranks also know which GPU reads which
    for (int i = 0; i < calls_before && reduction.before; ++i) reduction.before(from.at(), to.at(), count);
    return measure(reduction, nccl_ ? sum_by_nccl(*nccl_, reduction.name) : nullptr, from, to, count, bytes, bytes);
  }

  /// `number`: what the operation's call and right() need beside the buffers.
  template <class Operation, class Nccl, class Buffer>
  bool measure(const Operation& operation, const Nccl& nccl, Buffer& from, Buffer& to, int number, std::int64_t bytes,
               std::int64_t limit_bytes) {
    int verified = right(operation, operation.call, from, to, rank_, number);
    const auto in_turn = [&](const auto& call) {
      return measured(options_.each, [&] {
        if constexpr (std::is_same_v<Buffer, Doubles>)
          call(from.at(), to.at(), number);
        else
          call(from, to);
      });
    };
    const auto seconds = in_turn(operation.call);
    std::vector<double> nccl_seconds;
    if (nccl) {
      verified &= right(operation, nccl, from, to, rank_, number);
      nccl_seconds = in_turn(nccl);
    }
    const auto limit = Limit(gpu_, ranks_, stream_ ? &*stream_ : nullptr, limit_bytes).measure(options_.each);
    return tell("bench_collectives", operation.name, options_.memory, bytes, verified, seconds, limit, nccl_seconds);
  }

  const Options& options_;
  const Gpu* const gpu_;
  int rank_ = 0, ranks_ = 1;
  std::optional<Stream> stream_;
  std::unique_ptr<NcclComm> nccl_comm_;
  std::optional<Nccl> nccl_;
};

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
  line.text("--nccl", options.nccl, "NCCL's library, whose calls are measured beside");
  if (const auto status = line.read(argc, argv)) return *status;
  return run_program("bench_collectives", options.memory == "device", argc, argv,
                     [&](const Gpu* gpu) { return collectives::Bench(options, gpu).run(); });
}
