// MPI_Put, MPI_Get and MPI_Accumulate with their epochs, and a message of that size: the time of
// the slowest rank. Rank 0 is the origin, the last rank is the target.
//
// The limit is one copy of the bytes: by the GPU's copy engine, or by memcpy. Every operation's
// bytes are verified at the origin and at the target. Writes one JSON object per line. Exit status
// 0: done; 1: wrong bytes; 3: device memory was asked for and there is no GPU.
#include <mpi.h>

#include <optional>

#include "collectives/slowest.hpp"
#include "collectives/tell.hpp"
#include "common/command_line.hpp"
#include "common/record.hpp"
#include "cuda_aware/program.hpp"
#include "windows/operations.hpp"

namespace bench::windows {
namespace {

using collectives::copy;
using collectives::measured;
using collectives::tell;

struct Options {
  std::vector<std::int64_t> bytes{8, 1024, 65536, 1048576, 16777216};
  std::string memory = "device", only;
  int each = 50;
};

double origins(std::int64_t i) { return static_cast<double>(i * 7 % 1021); }
double targets(std::int64_t i) { return static_cast<double>(2000 + i * 11 % 1019); }
double sums(std::int64_t i) { return origins(i) + targets(i); }

/// Whether the buffer has become that. `before` is what it was filled with.
bool became(Becomes what, Buffer& buffer, double (*before)(std::int64_t)) {
  switch (what) {
    case Becomes::itself: return buffer.holds(before, before);
    case Becomes::the_origins: return buffer.holds(origins, before);
    case Becomes::the_targets: return buffer.holds(targets, before);
    case Becomes::sum: return buffer.holds(sums, before);
  }
  return false;
}

/// A window of a buffer's memory.
class Window {
 public:
  explicit Window(const Buffer& buffer) {
    MPI_Win_create(buffer.at(), buffer.extent(), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
  }
  ~Window() { MPI_Win_free(&window_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  MPI_Win get() const { return window_; }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

/// Each rank fills its buffers in an epoch of its own. All call once. Each looks at its buffers.
bool right(const Operation& operation, const Side& side) {
  side.local.fill(origins);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, side.rank, 0, side.window);
  side.exposed.fill(targets);
  MPI_Win_unlock(side.rank, side.window);
  MPI_Barrier(MPI_COMM_WORLD);
  operation.call(side);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, side.rank, 0, side.window);
  const bool exposed = became(side.is_target() ? operation.exposed : Becomes::itself, side.exposed, targets);
  MPI_Win_unlock(side.rank, side.window);
  const bool local = became(side.is_origin() ? operation.local : Becomes::itself, side.local, origins);
  return exposed && local;
}

/// Returns whether all bytes were right.
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
  const auto where = gpu ? Where::device : Where::host;
  bool all_right = true;
  for (const auto& operation : operations()) {
    if (!options.only.empty() && operation.name != options.only) continue;
    for (const auto bytes : options.bytes) {
      Buffer local(where, bytes, operation.strided), exposed(where, bytes, operation.strided);
      const Window window(exposed);
      const Side side{rank, ranks - 1, local, exposed, window.get()};
      const int verified = right(operation, side);
      const auto seconds = measured(options.each, [&] { operation.call(side); });
      const auto limit = measured(options.each, [&] {
        if (side.is_origin()) copy(local.place(), exposed.place(), bytes, stream ? &*stream : nullptr);
      });
      all_right &= tell("bench_windows", operation.name, options.memory, bytes, verified, seconds, limit);
    }
  }
  return all_right;
}

}  // namespace
}  // namespace bench::windows

int main(int argc, char** argv) {
  using namespace bench;
  windows::Options options;
  CommandLine line("MPI_Put, MPI_Get and MPI_Accumulate with their epochs");
  line.numbers("--bytes", options.bytes, "bytes of an operation: a multiple of 8, and of 128 if longer",
               std::int64_t{8});
  line.text("--memory", options.memory, "where the data are", {"device", "host"});
  line.text("--only", options.only, "only the operation of that name");
  line.number("--each", options.each, "calls of each operation", 1);
  if (const auto status = line.read(argc, argv)) return *status;
  return run_program("bench_windows", options.memory == "device", argc, argv,
                     [&](const Gpu* gpu) { return windows::run(options, gpu); });
}
