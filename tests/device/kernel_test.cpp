#include "gpu.hpp"
#include "sim/sim.h"

namespace dunnage::device {
namespace {

// What a kernel of the simulator looks like: out[i] = value for the threads of the grid, and the
// shape in front.
void fill(const dunnageSimLaunch* launch) {
  const auto out = *static_cast<CUdeviceptr*>(launch->params[0]);
  const auto value = *static_cast<int*>(launch->params[1]);
  auto* const to = static_cast<int*>(dunnageSimTranslate(reinterpret_cast<void*>(out)));
  for (unsigned i = 0; i < launch->gridDim[0] * launch->blockDim[0]; ++i) to[i] = value;
}

void nothing(const dunnageSimLaunch*) {}

class Kernel : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    const std::size_t sizes[] = {sizeof(CUdeviceptr), sizeof(int)};
    dunnageSimRegisterKernel("fill", fill, sizes, 2);
    dunnageSimRegisterKernel("nothing", nothing, nullptr, 0);
    ASSERT_EQ(cuModuleLoadData(&module, "any image"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "fill"), CUDA_SUCCESS);
    memory = device_memory(64 * sizeof(int));
    s = stream();
  }
  void TearDown() override {
    dunnageSimFailClear();
    Gpu::TearDown();  // which ends the context and what is in it
  }

  CUresult launch(int value, unsigned blocks = 2, unsigned threads = 32, unsigned shared = 0) {
    void* params[] = {&memory, &value};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, s, params, nullptr);
  }
  int value_at(int i) {
    int got = 0;
    EXPECT_EQ(cuMemcpyDtoH(&got, memory + i * sizeof(int), sizeof(int)), CUDA_SUCCESS);
    return got;
  }

  CUmodule module{};
  CUfunction function{};
  CUdeviceptr memory{};
  CUstream s{};
};

TEST_F(Kernel, Runs) {
  ASSERT_EQ(launch(42), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(value_at(0), 42);
  EXPECT_EQ(value_at(63), 42);
}

TEST_F(Kernel, ParametersAreCopiedAtTheLaunch) {
  Gate gate;
  gate.put_into(s);
  int value = 1;
  auto to = memory;
  void* params[] = {&to, &value};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s, params, nullptr), CUDA_SUCCESS);
  value = 2;
  to = 0;
  params[0] = params[1] = nullptr;
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(value_at(0), 1);
}

TEST_F(Kernel, IsKnownByItsName) {
  CUfunction other{};
  EXPECT_EQ(cuModuleGetFunction(&other, module, "none"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&other, module, "fill"), CUDA_SUCCESS);
  EXPECT_EQ(other, function);
  EXPECT_EQ(cuModuleGetFunction(&other, module, "nothing"), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(other, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr), CUDA_SUCCESS);
}

TEST_F(Kernel, ImpossibleLaunches) {
  EXPECT_EQ(launch(1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1025), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 64 << 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10), CUDA_SUCCESS);
  EXPECT_EQ(launch(1, 1, 1, 64 << 10), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Kernel, ModulesEnd) {
  ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(launch(1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Kernel, IsOfOneContext) {
  CUcontext peer{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&peer, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(peer), CUDA_SUCCESS);
  EXPECT_EQ(launch(1), CUDA_ERROR_INVALID_HANDLE);  // both are the other's
  const auto theirs = s;
  s = nullptr;
  EXPECT_EQ(launch(1), CUDA_ERROR_INVALID_HANDLE);  // the function is
  ASSERT_EQ(cuModuleLoadData(&module, "any image"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "fill"), CUDA_SUCCESS);
  EXPECT_EQ(launch(1), CUDA_SUCCESS);
  s = theirs;
  EXPECT_EQ(launch(1), CUDA_ERROR_INVALID_HANDLE);  // the stream is
  ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

TEST_F(Kernel, Attributes) {
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 256, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 8);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 32, 100 << 10), CUDA_SUCCESS);
  EXPECT_EQ(value, 2);
}

// The launch succeeds; whoever waits for it first hears of it, and everyone after.
TEST_F(Kernel, FailsWhenItRuns) {
  dunnageSimFail("kernel", 1, CUDA_ERROR_LAUNCH_FAILED, 1);
  EXPECT_EQ(launch(1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  Gate gate;
  gate.put_into(s);
  EXPECT_EQ(launch(2), CUDA_SUCCESS);
  EXPECT_EQ(launch(3), CUDA_SUCCESS);  // never runs
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(launch(4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(*static_cast<int*>(dunnageSimTranslate(reinterpret_cast<void*>(memory))), 1);
}

TEST_F(Kernel, IsNotRunInACapture) {
  ASSERT_EQ(launch(1), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  CUgraph graph{};
  ASSERT_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(launch(2), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(value_at(0), 1);
}

}  // namespace
}  // namespace dunnage::device
