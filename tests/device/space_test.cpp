// Addresses, and handles that outlive what they stood for.
#include <thread>

#include "gpu.hpp"
#include "sim/sim.h"

namespace dunnage::device {
namespace {

void* translate(CUdeviceptr address) { return dunnageSimTranslate(reinterpret_cast<void*>(address)); }

using Space = Gpu;

TEST_F(Space, DeviceMemoryIsReadableElsewhere) {
  const auto memory = device_memory(1000);
  ASSERT_EQ(cuMemsetD8(memory, 9, 1000), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  auto* const bytes = static_cast<char*>(translate(memory));
  EXPECT_NE(bytes, reinterpret_cast<void*>(memory));
  EXPECT_EQ(bytes[999], 9);
  EXPECT_EQ(translate(memory + 999), bytes + 999);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Space, HostMemoryIsWhereItIs) {
  char host = 0;
  const auto memory = pinned(16);
  EXPECT_EQ(dunnageSimTranslate(&host), &host);
  EXPECT_EQ(dunnageSimTranslate(memory), memory);
  EXPECT_EQ(dunnageSimTranslate(nullptr), nullptr);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

using SpaceDeathTest = Gpu;

TEST_F(SpaceDeathTest, FreedMemoryIsGone) {
  const auto memory = device_memory(8192);
  auto* const bytes = static_cast<volatile char*>(translate(memory));
  bytes[0] = 1;
  ASSERT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_DEATH(bytes[0] = 1, "");
}

TEST_F(Space, MemoryIsUsedAgain) {
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo(&before, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, std::size_t{1} << 30);
  std::vector<CUdeviceptr> all;
  for (int i = 0; i < 100; ++i) all.push_back(device_memory(1000 * i + 1));
  // In an order that leaves holes, and closes them from both sides.
  for (std::size_t i = 0; i < 100; i += 2) EXPECT_EQ(cuMemFree(all[i]), CUDA_SUCCESS);
  for (std::size_t i = 1; i < 100; i += 2) EXPECT_EQ(cuMemFree(all[i]), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo(&after, &total), CUDA_SUCCESS);
  EXPECT_EQ(after, before);
  EXPECT_EQ(cuMemFree(device_memory(total)), CUDA_SUCCESS);  // in one piece
}

TEST_F(Space, NeighboursKeepTheirBytes) {
  const auto a = device_memory(300), b = device_memory(300), c = device_memory(300);
  ASSERT_EQ(cuMemsetD8(a, 1, 300), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8(c, 3, 300), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(b), CUDA_SUCCESS);
  EXPECT_EQ(read(a, 300), std::vector<char>(300, 1));
  EXPECT_EQ(read(c, 300), std::vector<char>(300, 3));
  EXPECT_EQ(cuMemcpyDtoD(a, c, 301), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(a), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(c), CUDA_SUCCESS);
}

struct Handles {
  CUdeviceptr memory{}, managed{};
  char* host{};
  CUstream stream{};
  CUevent event{};
  CUmodule module{};
  CUfunction function{};
};

Handles some_handles() {
  Handles h;
  dunnageSimRegisterKernel(
      "nothing", [](const dunnageSimLaunch*) {}, nullptr, 0);
  EXPECT_EQ(cuMemAlloc(&h.memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocManaged(&h.managed, 16, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocHost(reinterpret_cast<void**>(&h.host), 16), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&h.stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&h.event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleLoadData(&h.module, "image"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&h.function, h.module, "nothing"), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(h.memory, 1, 16, h.stream), CUDA_SUCCESS);  // there is work, too
  EXPECT_EQ(cuEventRecord(h.event, h.stream), CUDA_SUCCESS);
  return h;
}

void expect_gone(const Handles& h) {
  CUfunction function{};
  EXPECT_EQ(cuMemFree(h.memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(h.managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(h.host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(h.memory, 1, 16, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSynchronize(h.stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamQuery(h.stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, h.event, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(h.event, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(h.event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(h.stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleGetFunction(&function, h.module, "nothing"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(h.function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(h.module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Space, AResetEndsAllHandles) {
  const auto h = some_handles();
  ASSERT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(h.stream), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemFree(h.memory), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  expect_gone(h);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(Space, DestroyingAContextEndsThemToo) {
  CUcontext made{};
  ASSERT_EQ(cuCtxCreate(&made, nullptr, 0, 0), CUDA_SUCCESS);
  const auto h = some_handles();
  std::thread([&] {
    ASSERT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);  // here it is still current
  }).join();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxPushCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(made), CUDA_ERROR_INVALID_CONTEXT);
  unsigned long long id = 0;
  EXPECT_EQ(cuCtxGetId(made, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  expect_gone(h);
}

TEST_F(Space, HandlesThatNeverWere) {
  const auto stream = reinterpret_cast<CUstream>(0x1234560);
  const auto event = reinterpret_cast<CUevent>(0x1234560);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuCtxSetCurrent(reinterpret_cast<CUcontext>(0x1234560)), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace dunnage::device
