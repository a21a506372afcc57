#include <thread>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

using Memory = Gpu;

TEST_F(Memory, IsAligned) {
  std::vector<CUdeviceptr> all;
  for (const std::size_t size : {1, 100, 256, 257, 100000}) all.push_back(device_memory(size));
  for (const auto address : all) {
    EXPECT_EQ(address % 256, 0u);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  }
}

using MemoryDeathTest = Gpu;

TEST_F(MemoryDeathTest, OfTheDeviceIsNotTheProcessors) {
  const auto address = device_memory(4096);
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(address) = 1, "");
  EXPECT_DEATH(static_cast<void>(*reinterpret_cast<volatile char*>(address + 4095)), "");
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
}

TEST_F(Memory, WrongArguments) {
  CUdeviceptr address{};
  EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(0), CUDA_SUCCESS);
  char host = 0;
  EXPECT_EQ(cuMemFree(as_device(&host)), CUDA_ERROR_INVALID_VALUE);
  const auto memory = device_memory(1024);
  EXPECT_EQ(cuMemFree(memory + 256), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, RunsOut) {
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
  EXPECT_LE(free_bytes, total);
  CUdeviceptr address{};
  EXPECT_EQ(cuMemAlloc(&address, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(&address, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  const auto small = device_memory(1024);  // and the context lives on
  EXPECT_EQ(cuMemFree(small), CUDA_SUCCESS);
}

TEST_F(Memory, FreeWaitsForTheWork) {
  const auto s = stream();
  const auto memory = device_memory(64);
  Gate gate;
  gate.put_into(s);
  ASSERT_EQ(cuMemsetD8Async(memory, 1, 64, s), CUDA_SUCCESS);
  std::thread later([&] { gate.open(); });
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_SUCCESS);
  later.join();
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Memory, OfAPool) {
  const auto s = stream();
  CUdeviceptr memory{};
  ASSERT_EQ(cuMemAllocAsync(&memory, 1000, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(memory, 5, 1000, s), CUDA_SUCCESS);
  std::vector<char> got(1000);
  ASSERT_EQ(cuMemcpyDtoHAsync(got.data(), memory, 1000, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFreeAsync(memory, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(got, std::vector<char>(1000, 5));
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Memory, OfThePoolIsNotForOtherProcesses) {
  const auto s = stream();
  CUdeviceptr memory{};
  CUipcMemHandle handle;
  ASSERT_EQ(cuMemAllocAsync(&memory, 1000, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_NE(cuIpcGetMemHandle(&handle, memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Memory, Pinned) {
  const auto memory = pinned(100);
  CUdeviceptr on_device{};
  EXPECT_EQ(cuMemHostGetDevicePointer(&on_device, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(on_device, as_device(memory));
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, Registered) {
  std::vector<char> memory(10000);
  ASSERT_EQ(cuMemHostRegister(memory.data(), memory.size(), 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister(memory.data(), memory.size(), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(memory.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(Memory, Managed) {
  CUdeviceptr memory{};
  ASSERT_EQ(cuMemAllocManaged(&memory, 100, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  auto* const host = reinterpret_cast<char*>(memory);
  std::memset(host, 1, 100);
  ASSERT_EQ(cuMemsetD8(memory, 2, 50), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(host[49], 2);
  EXPECT_EQ(host[50], 1);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Memory, AddressRange) {
  const auto memory = device_memory(1000);
  CUdeviceptr start{};
  std::size_t size = 0;
  ASSERT_EQ(cuMemGetAddressRange(&start, &size, memory + 999), CUDA_SUCCESS);
  EXPECT_EQ(start, memory);
  EXPECT_EQ(size, 1000u);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetAddressRange(&start, &size, memory), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Memory, Pitched) {
  CUdeviceptr memory{};
  std::size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch(&memory, &pitch, 700, 3, 4), CUDA_SUCCESS);
  EXPECT_GE(pitch, 700u);
  EXPECT_EQ(pitch % 256, 0u);
  EXPECT_EQ(cuMemsetD8(memory, 1, pitch * 3), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
