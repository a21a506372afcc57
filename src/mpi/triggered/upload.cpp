#include "mpi/triggered/upload.hpp"

namespace dunnage::mpi {

void upload(const device::Driver& driver, device::Gpu& gpu, CUdeviceptr to, const void* from, std::size_t size) {
  device::Borrowed lane(gpu);
  lane.busy();
  device::check(driver, driver.cuMemcpyAsync(to, reinterpret_cast<CUdeviceptr>(from), size, lane->stream),
                "cuMemcpyAsync");
  lane.synchronize();
}

}  // namespace dunnage::mpi
