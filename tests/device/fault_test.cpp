#include "gpu.hpp"
#include "sim/sim.h"

namespace dunnage::device {
namespace {

class Fault : public Gpu {
 protected:
  void TearDown() override {
    dunnageSimFailClear();
    Gpu::TearDown();
  }
  static CUresult allocate() {
    CUdeviceptr memory{};
    const auto result = cuMemAlloc(&memory, 16);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    }
    return result;
  }
};

TEST_F(Fault, ComesOnceAndWhenItWasAskedFor) {
  dunnageSimFail("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY, 0);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(Fault, IsForOneFunction) {
  dunnageSimFail("cuMemFree", 0, CUDA_ERROR_UNKNOWN, 0);
  CUdeviceptr memory{};
  EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Fault, OrForAClassOfThem) {
  void* memory{};
  dunnageSimFail("alloc", 1, CUDA_ERROR_OUT_OF_MEMORY, 0);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocHost(&memory, 16), CUDA_ERROR_OUT_OF_MEMORY);
  dunnageSimFail("copy", 0, CUDA_ERROR_UNKNOWN, 0);
  const auto on_device = device_memory(16);
  EXPECT_EQ(cuMemsetD8(on_device, 0, 16), CUDA_ERROR_UNKNOWN);
  dunnageSimFail("ipc", 0, CUDA_ERROR_MAP_FAILED, 0);
  CUipcMemHandle handle;
  EXPECT_EQ(cuIpcGetMemHandle(&handle, on_device), CUDA_ERROR_MAP_FAILED);
  dunnageSimFail("launch", 0, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0);
  EXPECT_EQ(cuLaunchHostFunc(
                nullptr, [](void*) { FAIL(); }, nullptr),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(cuMemFree(on_device), CUDA_SUCCESS);
}

TEST_F(Fault, TwoOfThemComeOneAfterTheOther) {
  dunnageSimFail("cuMemAlloc", 0, CUDA_ERROR_OUT_OF_MEMORY, 0);
  dunnageSimFail("cuMemAlloc", 0, CUDA_ERROR_UNKNOWN, 0);
  EXPECT_EQ(allocate(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(allocate(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(Fault, CanBeTakenBack) {
  dunnageSimFail("cuMemAlloc", 0, CUDA_ERROR_OUT_OF_MEMORY, 0);
  dunnageSimFailClear();
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(Fault, NeedsACodeOfCuda) {
  for (const int code : {0, -1, 1000}) dunnageSimFail("cuMemAlloc", 0, code, 0);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
}

TEST_F(Fault, StickyOnesLastUntilAReset) {
  const auto s = stream();
  const auto e = event();
  const auto memory = device_memory(16);
  dunnageSimFail("cuMemsetD8Async", 0, CUDA_ERROR_ILLEGAL_ADDRESS, 1);
  EXPECT_EQ(cuMemsetD8Async(memory, 0, 16, s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(allocate(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(Fault, StickyOnesAreOfOneContext) {
  CUcontext peer{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&peer, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(peer), CUDA_SUCCESS);
  dunnageSimFail("cuMemAlloc", 0, CUDA_ERROR_LAUNCH_FAILED, 1);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(allocate(), CUDA_ERROR_LAUNCH_FAILED);
  ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

TEST_F(Fault, CallsAreCounted) {
  const auto all = dunnageSimCalls(nullptr), allocations = dunnageSimCalls("cuMemAlloc");
  allocate();
  EXPECT_EQ(dunnageSimCalls("cuMemAlloc"), allocations + 1);
  EXPECT_EQ(dunnageSimCalls(nullptr), all + 2);  // and the free
  EXPECT_EQ(dunnageSimCalls("cuNoSuchFunction"), 0u);
}

}  // namespace
}  // namespace dunnage::device
