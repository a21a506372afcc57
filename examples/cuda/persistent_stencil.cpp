// A plane of cells in device memory, whose rows are divided among the ranks. Each step makes every
// cell the mean of its four neighbours. The last row is a neighbour of the first one. The cells of
// the first and the last column keep their values.
//
// One kernel does all steps (kernels.cu). It sends the outermost rows of its rank from inside, and
// computes the other rows while those travel. The host launches it once, and waits. Then the host
// computes the whole plane, and compares every bit.
//
// Call: persistent_stencil [STEPS [ROWS [COLUMNS [BLOCKS [THREADS]]]]]. ROWS: of each rank. BLOCKS:
// the most blocks of the kernel. THREADS: of a block. The CUDA driver is opened when the program
// runs. Exit status 0: right; 1: wrong; 2: a wrong argument; 3: no GPU, or an MPI without
// partitioned communication, or ranks that do not reach each other by kernels.
#include <dlfcn.h>
#include <dunnage.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stencil.hpp"

#if MPI_VERSION >= 4

#define DRIVER_FUNCTIONS(X)                      \
  X(cuInit)                                      \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGetAttribute)                        \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuCtxSetCurrent)                             \
  X(cuCtxSynchronize)                            \
  X(cuStreamCreate)                              \
  X(cuStreamSynchronize)                         \
  X(cuMemAlloc)                                  \
  X(cuMemcpyHtoD)                                \
  X(cuMemcpyDtoH)                                \
  X(cuModuleLoadData)                            \
  X(cuModuleGetFunction)                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuLaunchKernel)

#include "../common/driver_table.hpp"

/// The compiled kernels.cu (image.S).
extern "C" const char persistent_stencil_image[];

namespace {

/// Returns the number of GPUs. 0: there is no driver, or it finds none.
int open_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library || fill_driver_table(library)) return 0;
  int devices = 0;
  return driver.cuInit(0) == CUDA_SUCCESS && driver.cuDeviceGetCount(&devices) == CUDA_SUCCESS ? devices : 0;
}

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "persistent_stencil: %s: %s\n", what, why);
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}

void check(int code, const char* function) {
  if (code != CUDA_SUCCESS) fail(function, "an error of the CUDA driver");
}
#define CALL(name, ...) check(driver.name(__VA_ARGS__), #name)

template <class T>
T* upload(const T* from, std::size_t bytes) {
  CUdeviceptr memory = 0;
  CALL(cuMemAlloc, &memory, bytes);
  CALL(cuMemcpyHtoD, memory, from, bytes);
  CALL(cuCtxSynchronize);  // the copy may return before the bytes are there
  return reinterpret_cast<T*>(memory);
}

/// The exchange that sends the outermost own rows of a field to the neighbours above and below.
DNG_Exchange match(const Stencil& s, double* field, int above, int below) {
  const auto row = [&](int i) { return field + std::size_t(i) * std::size_t(s.columns); };
  const int count = s.columns / s.partitions;
  MPI_Request requests[4];
  const auto send = [&](int i, int to, int way) {
    MPI_Psend_init(row(i), s.partitions, count, MPI_DOUBLE, to, way, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[way]);
  };
  const auto receive = [&](int i, int from, int way) {
    MPI_Precv_init(row(i), s.partitions, count, MPI_DOUBLE, from, way, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[2 + way]);
  };
  send(1, above, send_up);
  send(s.rows, below, send_down);
  receive(s.rows + 1, below, send_up);
  receive(0, above, send_down);
  DNG_Exchange exchange;
  if (DNG_Match(4, requests, &exchange) != MPI_SUCCESS) fail("DNG_Match", "an error of the MPI");
  return exchange;
}

/// The rows of a rank, with the row above and the row below them.
std::vector<double> part_of(const std::vector<double>& plane, int columns, int first, int rows) {
  std::vector<double> part;
  const int all = int(plane.size()) / columns;
  for (int row = first - 1; row <= first + rows; ++row) {
    const auto begin = plane.begin() + std::ptrdiff_t((row + all) % all) * columns;
    part.insert(part.end(), begin, begin + columns);
  }
  return part;
}

/// All steps on the whole plane, with the formula of kernels.cu.
void compute_on_host(std::vector<double>& plane, int columns, int steps) {
  auto next = plane;
  const auto size = std::ptrdiff_t(plane.size());
  for (int step = 0; step < steps; ++step, plane.swap(next))
    for (std::ptrdiff_t row = 0; row < size; row += columns) {
      const double* const here = &plane[std::size_t(row)];
      const double* const above = &plane[std::size_t((row + size - columns) % size)];
      const double* const below = &plane[std::size_t((row + columns) % size)];
      for (int i = 1; i < columns - 1; ++i)
        next[std::size_t(row + i)] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
    }
}

}  // namespace

int main(int argc, char** argv) {
  int arguments[] = {500, 512, 2048, INT_MAX, 256};
  for (int i = 1; i < argc && i <= 5; ++i) arguments[i - 1] = std::atoi(argv[i]);
  const auto [steps, rows, columns, most_blocks, threads] = arguments;
  if (argc > 6 || steps < 1 || rows < 2 || columns < 1 || most_blocks < 1 || threads < 1)
    return std::fprintf(stderr, "persistent_stencil [STEPS [ROWS [COLUMNS [BLOCKS [THREADS]]]]]\n"), 2;
  const int devices = open_driver();
  if (devices == 0) return std::fprintf(stderr, "persistent_stencil: no GPU\n"), 3;
  MPI_Init(&argc, &argv);
  int rank, ranks, processors = 0, resident = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUcontext context;
  CUstream stream;
  CUmodule module;
  CUfunction kernel;
  CALL(cuDevicePrimaryCtxRetain, &context, rank % devices);
  CALL(cuCtxSetCurrent, context);
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CALL(cuModuleLoadData, &module, persistent_stencil_image);
  CALL(cuModuleGetFunction, &kernel, module, "persistent_stencil");

  std::vector<double> plane(std::size_t(ranks) * std::size_t(rows) * std::size_t(columns));
  for (std::size_t i = 0; i < plane.size(); ++i) plane[i] = double(i * i % 1013);
  auto part = part_of(plane, columns, rank * rows, rows);
  const std::size_t bytes = part.size() * sizeof(double);
  Meeting meeting{};
  Stencil s{{}, {}, rows, columns, 8, steps, upload(&meeting, sizeof meeting)};
  while (columns % s.partitions != 0) --s.partitions;
  DNG_Exchange exchange[2];
  for (int i = 0; i < 2; ++i) {
    s.field[i] = upload(part.data(), bytes);
    exchange[i] = match(s, s.field[i], (rank + ranks - 1) % ranks, (rank + 1) % ranks);
    const char* why = "";
    DNG_Exchange_query(exchange[i], nullptr, &why);
    if (DNG_Exchange_device(exchange[i], &s.exchange[i]) != MPI_SUCCESS) fail("kernels cannot send by themselves", why);
  }

  // Half of what is resident at once, so that other kernels find room. Ranks may share a GPU.
  CALL(cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, rank % devices);
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &resident, kernel, threads, 0);
  const int sharing = (ranks + devices - 1) / devices;
  const int blocks = std::clamp(resident * processors / 2 / sharing, 1, most_blocks);
  void* parameters[] = {&s};
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  CALL(cuLaunchKernel, kernel, unsigned(blocks), 1, 1, unsigned(threads), 1, 1, 0, stream, parameters, nullptr);
  CALL(cuStreamSynchronize, stream);
  const double seconds = MPI_Wtime() - begin;

  CALL(cuMemcpyDtoH, part.data(), reinterpret_cast<CUdeviceptr>(s.field[steps % 2]), bytes);
  CALL(cuMemcpyDtoH, &meeting, reinterpret_cast<CUdeviceptr>(s.meeting), sizeof meeting);
  compute_on_host(plane, columns, steps);
  const auto expected = part_of(plane, columns, rank * rows, rows);
  int wrong = meeting.broken || std::memcmp(part.data(), expected.data(), bytes) != 0, all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%d ranks, %d steps, %.2f us per step: %s\n", ranks, steps, seconds / steps * 1e6,
                all == 0 ? "right" : "wrong");
  for (auto& one : exchange) DNG_Exchange_free(&one);  // before the device memory, which ends with the program
  MPI_Finalize();
  return all != 0;
}

#else

int main() {
  std::fprintf(stderr, "persistent_stencil: this MPI has no partitioned communication, which MPI 4 brought\n");
  return 3;
}

#endif
