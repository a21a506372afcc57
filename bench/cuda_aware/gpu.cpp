#include "cuda_aware/gpu.hpp"

#include <cstdlib>

namespace bench {

int rank_before_init() {
  // These variables are set by Open MPI; by MPICH and Intel MPI; by Slurm; and by every launcher
  // with PMI.
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "PMIX_RANK", "PMI_RANK"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return 0;
}

int Gpu::count() {
  int found = 0;
  if (driver().cuInit(0) != CUDA_SUCCESS || driver().cuDeviceGetCount(&found) != CUDA_SUCCESS || found == 0)
    throw NoDevice("CUDA's driver finds no GPU");
  return found;
}

Gpu::Gpu(int rank) : number_(rank % count()) {
  BENCH_CU(cuDeviceGet, &device_, number_);
  BENCH_CU(cuDevicePrimaryCtxRetain, &context_, device_);
  make_current();
}

std::string Gpu::name() const {
  char text[256] = {};
  BENCH_CU(cuDeviceGetName, text, sizeof text - 1, device_);
  return text;
}

std::size_t Gpu::free_bytes() const {
  std::size_t free = 0, all = 0;
  BENCH_CU(cuMemGetInfo, &free, &all);
  return free;
}

bool Gpu::reach(const Gpu& other) const {
  if (device_ == other.device_) return true;
  int can = 0;
  BENCH_CU(cuDeviceCanAccessPeer, &can, device_, other.device_);
  if (!can) return false;
  make_current();
  const CUresult result = driver().cuCtxEnablePeerAccess(other.context_, 0);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

}  // namespace bench
