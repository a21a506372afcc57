// Messages between two GPUs, or within one if there is only one: latency and bandwidth. Messages
// come from device memory, from host memory, and from device memory with copies by the program, as
// in the last figure of "CUDA-aware MPI". Strided messages and new buffers are measured too, and
// the copy engine and NCCL beside them. The program calls MPI_ functions only, so what it measures
// depends on what is preloaded. Writes one JSON object per line; see docs/guide/benchmarks.md. Exit
// status 0: done; 1: wrong bytes; 2: failed; 3: no GPU.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>

#include "common/cores.hpp"
#include "common/record.hpp"
#include "common/two_ranks.hpp"
#include "cuda_aware/ceilings.hpp"
#include "cuda_aware/suite.hpp"

namespace {

using namespace bench;

/// Returns whether the MPI says that it is CUDA-aware. If the MPI cannot be asked, it is not.
/// Dunnage, if it is preloaded, would answer for itself: so the MPI's own library is asked. That
/// library is the one with a function that Dunnage does not have.
bool mpi_is_cuda_aware() {
  Dl_info of{};
  void* function = dlsym(RTLD_DEFAULT, "MPI_Get_processor_name");
  if (!function || !dladdr(function, &of)) return false;
  void* library = dlopen(of.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  const auto query = reinterpret_cast<int (*)()>(dlsym(library, "MPIX_Query_cuda_support"));
  const bool aware = query && query() == 1;
  dlclose(library);
  return aware;
}

nlohmann::json header(const Gpu& gpu, int cores) {
  MPI_Allreduce(MPI_IN_PLACE, &cores, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  int version = 0, can = 0;
  BENCH_CU(cuDriverGetVersion, &version);
  const int count = Gpu::count();
  CUdevice other = 0;
  BENCH_CU(cuDeviceGet, &other, (gpu.number() + 1) % count);
  if (count > 1) BENCH_CU(cuDeviceCanAccessPeer, &can, gpu.device(), other);
  nlohmann::json record = bench::header();
  record.update({{"device", gpu.name()},
                 {"devices", count},
                 {"driver", version},
                 {"cores", cores},
                 {"peer_access", count == 1 || can != 0},
                 {"cuda_aware", mpi_is_cuda_aware()}});
  return record;
}

/// Returns the bytes that both ranks have room for: the buffers of both ranks, twice if they are
/// staged or new, and the buffers of copies. All of them may be on one GPU.
std::size_t room(const Gpu& gpu, std::size_t wanted) {
  unsigned long long most = std::min<unsigned long long>(wanted, gpu.free_bytes() / 12), least = 0;
  MPI_Allreduce(&most, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
  return least;
}

void references(const Options& options, const Gpu& gpu, int rank, std::size_t most, Suite& suite) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) print_ceilings(gpu, 1, options.bytes, options.window, most, options.effort);
  MPI_Barrier(MPI_COMM_WORLD);
  try {
    Nccl nccl(options.nccl, rank);
    suite.contiguous("NCCL", Kind::device, [&nccl](Operation operation, const Buffers& buffers, const Window& window) {
      return nccl.exchange(operation, buffers, window);
    });
  } catch (const std::runtime_error& error) {
    suite.skip("NCCL", error.what());
  }
}

bool run(const Options& options, const Gpu& gpu, int rank, const nlohmann::json& head) {
  const std::size_t most = room(gpu, options.most);
  Suite suite(options, rank, most);
  const Suite::Make make = [rank](Operation operation, const Buffers& buffers, const Window& window) {
    return mpi_exchange(operation, rank, buffers, window);
  };
  if (options.wants("references")) references(options, gpu, rank, most, suite);
  if (options.wants("host")) suite.contiguous(name(Kind::host), Kind::host, make);
  if (options.wants("staged")) suite.contiguous(name(Kind::staged), Kind::staged, make);
  if (options.wants("device")) {
    if (head["dunnage"] || head["cuda_aware"]) {
      suite.contiguous(name(Kind::device), Kind::device, make);
      suite.strided(Kind::device, make);
      suite.fresh(Kind::device, make);
    } else {
      suite.skip(name(Kind::device), "the MPI is not CUDA-aware");
    }
  }
  return suite.right();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int number = rank_before_init();
    const int cores = take_half_of_cores(number);  // must come before the driver makes its threads
    const Gpu gpu(number);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CommandLine line("Messages on device memory; writes JSON lines");
    Options options;
    add_options(line, options);
    if (const auto code = begin_on_two_ranks(line, argc, argv, "bench_cuda_aware")) return *code;
    const nlohmann::json head = header(gpu, cores);
    if (rank == 0) print(head);
    const bool right = run(options, gpu, rank, head);
    MPI_Finalize();
    return right ? 0 : 1;
  } catch (const NoDevice& error) {
    std::fprintf(stderr, "bench_cuda_aware: no GPU: %s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_cuda_aware: %s\n", error.what());
    int begun = 0;
    MPI_Initialized(&begun);
    if (begun) MPI_Abort(MPI_COMM_WORLD, 2);  // the other rank waits, so end it
    return 2;
  }
}
