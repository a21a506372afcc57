// An installation without kernels: data in device memory are left to the MPI, which may reach them.
#include <dlfcn.h>

#include "device/driver.hpp"
#include "hooked.hpp"

namespace dunnage::mpi::test {
namespace {

using WithoutKernels = Hooked;

TEST_F(WithoutKernels, StridedDeviceMemoryIsLeftToTheMpi) {
  auto* library = dlopen(DUNNAGE_TEST_RANGE_DRIVER, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto set = reinterpret_cast<void (*)(void*, std::size_t)>(dlsym(library, "dunnage_range_set"));
  ASSERT_NE(set, nullptr);
  const auto type = commit(fake::vector(100, 3, 5, MPI_INT));
  std::vector<int> device(500, 1), host(500, 2);
  set(device.data(), device.size() * sizeof(int));

  EXPECT_EQ(device::driver(), nullptr);
  EXPECT_STRNE(device::why_driver_is_unused(), nullptr);
  ASSERT_EQ(mpi.MPI_Send(device.data(), 1, type, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::last_send_buffer(), device.data());
  ASSERT_EQ(mpi.MPI_Send(host.data(), 1, type, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_NE(fake::last_send_buffer(), host.data());
  EXPECT_EQ(fake::taken_by(1).size(), 2u);

  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Irecv(device.data(), 1, type, 1, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  fake::arrive(1, 0, std::string(1200, '\0'));
  EXPECT_EQ(device[0], 0) << "the MPI was given another buffer";
  ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);

  // Packed bytes in device memory, too.
  int position = 0;
  EXPECT_EQ(mpi.MPI_Pack(host.data(), 1, type, device.data(), 2000, &position, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Pack"), 1);
  position = 0;
  EXPECT_EQ(mpi.MPI_Unpack(device.data(), 2000, &position, host.data(), 1, type, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Unpack"), 1);
  set(nullptr, 0);
}

}  // namespace
}  // namespace dunnage::mpi::test
