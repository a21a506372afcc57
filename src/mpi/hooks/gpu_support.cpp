#include "mpi/hooks/gpu_support.hpp"

#include "device/driver.hpp"

namespace dunnage::mpi {

bool takes_device_memory() {
  const auto& settings = process->settings;
  return settings.device != base::Device::off && settings.force != base::Force::never && device::can_handle_devices();
}

int query_cuda_support(Hook, int (*mpi)()) {
  if (takes_device_memory()) return 1;
  if (mpi) return mpi();
  return process->query_cuda_support ? process->query_cuda_support() : 0;
}

int gpu_query_support(Hook hook, int (*mpi)(int, int*), int type, int* supported) {
  constexpr int cuda = 0, hip = 2;  // MPICH's MPIX_GPU_SUPPORT_CUDA, and the last one of MPICH 4
  if (!supported) return mpi ? mpi(type, supported) : MPI_ERR_ARG;
  if (type == cuda && takes_device_memory()) {
    *supported = 1;
    return MPI_SUCCESS;
  }
  if (mpi) return mpi(type, supported);
  *supported = type == cuda && query_cuda_support(hook, nullptr) == 1;
  return type >= cuda && type <= hip ? MPI_SUCCESS : MPI_ERR_ARG;
}

}  // namespace dunnage::mpi
