// A stand-in for libdunnage.so in tests of the device benchmark: packs device memory with the MPI's
// own functions on a copy in host memory. With STAGED_PACK=wrong one byte of every result is
// changed, with STAGED_PACK=stray one beside it, with STAGED_PACK=crash the process dies.
// STAGED_KERNELS names a library to load as well: kernels_on_host.cpp.
#include <dlfcn.h>
#include <mpi.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "device/cuda_driver_api.h"

namespace {

template <class F>
F symbol(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<F>(dlsym(driver, name));
}

void to_host(void* to, const void* from, std::size_t bytes) {
  symbol<CUresult (*)(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2")(to, reinterpret_cast<CUdeviceptr>(from),
                                                                           bytes);
}
void to_device(void* to, const void* from, std::size_t bytes) {
  symbol<CUresult (*)(CUdeviceptr, const void*, std::size_t)>("cuMemcpyHtoD_v2")(reinterpret_cast<CUdeviceptr>(to),
                                                                                 from, bytes);
}

/// The user's bytes, from the first to the last that the datatypes reach.
struct Staged {
  Staged(const void* user, int count, MPI_Datatype type) {
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    first = true_lb;
    bytes.resize(static_cast<std::size_t>((count - 1) * extent + true_extent));
    device = const_cast<char*>(static_cast<const char*>(user)) + first;
    to_host(bytes.data(), device, bytes.size());
  }
  char* host() { return bytes.data() - first; }
  MPI_Aint first;
  char* device;
  std::vector<char> bytes;
};

std::string_view mode() {
  const char* const text = std::getenv("STAGED_PACK");
  return text ? text : "";
}

/// What goes wrong when it is asked to.
void spoil(char* result, std::size_t bytes) {
  if (mode() == "crash") std::raise(SIGSEGV);
  const std::size_t at = mode() == "wrong" ? bytes / 2 : bytes;
  if (mode() != "wrong" && mode() != "stray") return;
  char value;
  to_host(&value, result + at, 1);
  value = static_cast<char>(value ^ 1);
  to_device(result + at, &value, 1);
}

__attribute__((constructor)) void load_kernels() {
  if (const char* const kernels = std::getenv("STAGED_KERNELS")) dlopen(kernels, RTLD_NOW);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char* dunnage_version() { return "stand-in"; }

__attribute__((visibility("default"))) int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size,
                                                    int* position, MPI_Comm comm) {
  Staged user(in, count, type);
  std::vector<char> packed(static_cast<std::size_t>(size));
  const int from = *position;
  const int result = PMPI_Pack(user.host(), count, type, packed.data(), size, position, comm);
  to_device(static_cast<char*>(out) + from, packed.data() + from, static_cast<std::size_t>(*position - from));
  spoil(static_cast<char*>(out) + from, static_cast<std::size_t>(*position - from));
  return result;
}

__attribute__((visibility("default"))) int MPI_Unpack(const void* in, int size, int* position, void* out, int count,
                                                      MPI_Datatype type, MPI_Comm comm) {
  std::vector<char> packed(static_cast<std::size_t>(size));
  to_host(packed.data(), in, packed.size());
  Staged user(out, count, type);
  const int result = PMPI_Unpack(packed.data(), size, position, user.host(), count, type, comm);
  to_device(user.device, user.bytes.data(), user.bytes.size());
  // The last byte of the span is always the datatype's; the one behind it never is.
  spoil(user.device + (mode() == "wrong" ? 0 : user.bytes.size()), mode() == "wrong" ? 1 : 0);
  return result;
}
}
