// The benchmarks' kernels on the simulated device: their kernels.cu compiled for the host, run
// thread after thread. staged_pack.cpp loads it, or it is preloaded.
#include <dlfcn.h>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/sim.h"

namespace {
struct Index {
  unsigned x, y, z;
};
Index gridDim, blockDim, blockIdx, threadIdx;
struct uint4 {
  unsigned x, y, z, w;
};
template <class T>
T __ldcs(const T* from) {
  return *from;
}
void atomicAdd(unsigned long long* to, unsigned long long value) { *to += value; }
}  // namespace

#define __global__
#define __device__
#include "examples/fortran/higrad/kernels.cu"
#include "halo/kernels.cu"
#include "pack_device/kernels.cu"

namespace {

decltype(&dunnageSimTranslate) translate;

// What a kernel is given, where the simulator itself can reach it.
template <class T>
T reachable(const void* parameter) {
  T value = *static_cast<const T*>(parameter);
  if constexpr (std::is_pointer_v<T>) {
    value = static_cast<T>(translate(value));
  } else if constexpr (std::is_same_v<T, Geometry>) {
    if (value.offsets) value.offsets = static_cast<const u64*>(translate(value.offsets));
    if (value.starts) value.starts = static_cast<const u64*>(translate(value.starts));
  }
  return value;
}

template <class F>
void for_each(const unsigned (&extent)[3], Index& index, F f) {
  for (index.z = 0; index.z < extent[2]; ++index.z)
    for (index.y = 0; index.y < extent[1]; ++index.y)
      for (index.x = 0; index.x < extent[0]; ++index.x) f();
}

template <class... Parameters, std::size_t... I>
void run(void (*kernel)(Parameters...), const dunnageSimLaunch* launch, std::index_sequence<I...>) {
  gridDim = {launch->gridDim[0], launch->gridDim[1], launch->gridDim[2]};
  blockDim = {launch->blockDim[0], launch->blockDim[1], launch->blockDim[2]};
  for_each(launch->gridDim, blockIdx, [&] {
    for_each(launch->blockDim, threadIdx, [&] { kernel(reachable<Parameters>(launch->params[I])...); });
  });
}

decltype(&dunnageSimRegisterKernel) enter;

/// Returns whether the simulated device stands in for the driver.
bool find_simulator() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return false;
  enter = reinterpret_cast<decltype(enter)>(dlsym(driver, "dunnageSimRegisterKernel"));
  translate = reinterpret_cast<decltype(translate)>(dlsym(driver, "dunnageSimTranslate"));
  return enter && translate;
}

template <auto kernel, class... Parameters>
void add(const char* name, void (*)(Parameters...)) {
  static const std::size_t sizes[] = {sizeof(Parameters)..., 0};
  enter(
      name, [](const dunnageSimLaunch* launch) { run(kernel, launch, std::index_sequence_for<Parameters...>()); },
      sizes, sizeof...(Parameters));
}

/// The list of moves holds addresses of the device too.
void run_move_boxes(const dunnageSimLaunch* launch) {
  const auto* list = reachable<const bench::halo::BoxMove*>(launch->params[0]);
  std::vector<bench::halo::BoxMove> moves(list, list + launch->gridDim[1]);
  for (auto& move : moves) {
    move.from = static_cast<const double*>(translate(move.from));
    move.to = static_cast<double*>(translate(move.to));
  }
  gridDim = {launch->gridDim[0], launch->gridDim[1], launch->gridDim[2]};
  blockDim = {launch->blockDim[0], launch->blockDim[1], launch->blockDim[2]};
  for_each(launch->gridDim, blockIdx,
           [&] { for_each(launch->blockDim, threadIdx, [&] { move_boxes(moves.data()); }); });
}

#define ADD(name) add<&::name>(#name, &::name);
__attribute__((constructor)) void add_all() {
  if (!find_simulator()) return;  // a launcher's helper, or a machine with a real driver
  static const std::size_t pointer[] = {sizeof(void*), 0};
  enter("move_boxes", run_move_boxes, pointer, 1);
  ADD(higrad_advance)
  ADD(higrad_pack)
  ADD(higrad_unpack)
  ADD(empty)
  ADD(copy)
  ADD(fill)
  ADD(differ)
  ADD(differ_packed)
  ADD(differ_user)
  ADD(restore)
  ADD(read_rows)
  ADD(read_list)
  ADD(write_rows)
  ADD(write_list)
  ADD(document_pack_1)
  ADD(document_pack_2)
  ADD(document_pack_4)
  ADD(document_pack_8)
  ADD(document_unpack_1)
  ADD(document_unpack_2)
  ADD(document_unpack_4)
  ADD(document_unpack_8)
}

}  // namespace
