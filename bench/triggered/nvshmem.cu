// Messages by NVSHMEM, as a library that bench_triggered opens. It is compiled for itself, because
// NVSHMEM's part on the device needs relocatable device code.
#include <nvshmem.h>
#include <nvshmemx.h>

#include "nvshmem_library.hpp"

namespace {

__global__ void trips(NvshmemTrips t) {
  for (int leg = 0; leg < t.legs; ++leg) {
    ++t.epoch;
    if (t.alone || leg % 2 == t.first)
      nvshmemx_putmem_signal_block(t.in, t.out, t.bytes, t.flag, t.epoch, NVSHMEM_SIGNAL_SET, t.other);
    if (t.alone || leg % 2 != t.first) {
      if (threadIdx.x == 0) nvshmem_signal_wait_until(t.flag, NVSHMEM_CMP_GE, t.epoch);
      __syncthreads();
    }
  }
}

size_t id_size() { return sizeof(nvshmemx_uniqueid_t); }
int make_id(void* id) { return nvshmemx_get_uniqueid(static_cast<nvshmemx_uniqueid_t*>(id)); }
int start(int rank, int ranks, const void* id) {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  const int code =
      nvshmemx_set_attr_uniqueid_args(rank, ranks, static_cast<const nvshmemx_uniqueid_t*>(id), &attributes);
  return code ? code : nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes);
}
void end() { nvshmem_finalize(); }
void* allocate(size_t bytes) { return nvshmem_malloc(bytes); }
void release(void* memory) { nvshmem_free(memory); }
int put(const NvshmemTrips& t, CUstream_st* stream) {
  nvshmemx_putmem_signal_on_stream(t.in, t.out, t.bytes, t.flag, t.epoch, NVSHMEM_SIGNAL_SET, t.other, stream);
  return cudaGetLastError();
}
int wait(const NvshmemTrips& t, CUstream_st* stream) {
  nvshmemx_signal_wait_until_on_stream(t.flag, NVSHMEM_CMP_GE, t.epoch, stream);
  return cudaGetLastError();
}
int launch_trips(const NvshmemTrips& t, CUstream_st* stream) {
  trips<<<1, t.bytes <= 8 ? 32 : 1024, 0, stream>>>(t);
  return cudaGetLastError();
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const NvshmemLibrary bench_nvshmem{id_size, make_id, start, end, allocate, release, put, wait, launch_trips};
