// What bench/triggered/nvshmem.cu makes, without NVSHMEM and for a rank alone: puts are copies on
// the simulated device, and waits are memory operations. build/tests/libnvshmem_alone.so.
#include <dlfcn.h>

#include "device/cuda_driver_api.h"
#include "triggered/nvshmem_library.hpp"

namespace {

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
/// A function of the driver that the program has opened.
#define DRIVER(function) reinterpret_cast<decltype(&::function)>(dlsym(library(), TEXT(function)))
void* library() {
  static void* const opened = dlopen("libcuda.so.1", RTLD_NOW);
  return opened;
}

CUdeviceptr at(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

size_t id_size() { return 1; }
int make_id(void* id) {
  *static_cast<char*>(id) = 'x';
  return 0;
}
int start(int, int ranks, const void* id) { return ranks == 1 && *static_cast<const char*>(id) == 'x' ? 0 : 1; }
void end() {}
void* allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  if (DRIVER(cuMemAlloc)(&memory, bytes) != CUDA_SUCCESS) return nullptr;
  DRIVER(cuMemsetD8)(memory, 0, bytes);
  return reinterpret_cast<void*>(memory);
}
void release(void* memory) { DRIVER(cuMemFree)(at(memory)); }
int put(const NvshmemTrips& t, CUstream_st* stream) {
  const auto copied = DRIVER(cuMemcpyAsync)(at(t.in), at(t.out), t.bytes, stream);
  return copied ? copied : DRIVER(cuStreamWriteValue64)(stream, at(t.flag), t.epoch, 0);
}
int wait(const NvshmemTrips& t, CUstream_st* stream) {
  return DRIVER(cuStreamWaitValue64)(stream, at(t.flag), t.epoch, CU_STREAM_WAIT_VALUE_GEQ);
}
int launch_trips(const NvshmemTrips& trips, CUstream_st* stream) {
  auto t = trips;
  int code = 0;
  for (int leg = 0; leg < t.legs && code == 0; ++leg) {
    ++t.epoch;
    code = put(t, stream);
    if (code == 0) code = wait(t, stream);
  }
  return code;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const NvshmemLibrary bench_nvshmem{
    id_size, make_id, start, end, allocate, release, put, wait, launch_trips};
