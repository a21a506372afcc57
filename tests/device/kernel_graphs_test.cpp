#include "device/kernel_graphs.hpp"

#include <thread>

#include "gpu.hpp"
#include "sim/sim.h"
#include "simulated_driver.hpp"

namespace dunnage::device {
namespace {

struct Parameter {
  CUdeviceptr to;
  std::int64_t value;
};

// Adds the value for each block.
void add(const dunnageSimLaunch* launch) {
  const auto& p = *static_cast<Parameter*>(launch->params[0]);
  *static_cast<std::int64_t*>(dunnageSimTranslate(reinterpret_cast<void*>(p.to))) += p.value * launch->gridDim[0];
}
void other(const dunnageSimLaunch*) {}

class Graphs : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    const std::size_t size = sizeof(Parameter);
    dunnageSimRegisterKernel("add", add, &size, 1);
    dunnageSimRegisterKernel("other", other, &size, 1);
    CUmodule module{};
    ASSERT_EQ(cuModuleLoadData(&module, "any image"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&kernel, module, "add"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&first, module, "other"), CUDA_SUCCESS);
    memory = device_memory(sizeof(std::int64_t));
    ASSERT_EQ(cuMemsetD8(memory, 0, sizeof(std::int64_t)), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);  // the stream does not wait for the legacy default stream
    s = stream();
    KernelGraphs::use(KernelGraphs::Use::always);
  }
  void TearDown() override {
    KernelGraphs::use(KernelGraphs::Use::automatic);
    dunnageSimFailClear();
    Gpu::TearDown();
  }
  bool launch(std::int64_t value, std::uint32_t blocks = 1) {
    const Parameter parameter{memory, value};
    return graphs.launch({kernel, blocks, 32, 0, &parameter, sizeof parameter}, s);
  }
  std::int64_t sum() {
    EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
    std::int64_t got = 0;
    EXPECT_EQ(cuMemcpyDtoH(&got, memory, sizeof got), CUDA_SUCCESS);
    return got;
  }

  const Driver driver = simulated_driver();
  KernelGraphs graphs{driver};
  CUfunction kernel{}, first{};
  CUdeviceptr memory{};
  CUstream s{};
};

TEST_F(Graphs, AreNotThereBeforeTheyAreMade) {
  EXPECT_FALSE(launch(1));
  EXPECT_EQ(sum(), 0);
}

TEST_F(Graphs, LaunchWhatTheyAreGiven) {
  graphs.make(first);
  std::int64_t expected = 0;
  for (std::int64_t round = 0; round < 3; ++round)
    for (std::int64_t value = 1; value <= 100; ++value) {  // more than there are graphs
      const auto blocks = static_cast<std::uint32_t>(1 + value % 3);
      ASSERT_TRUE(launch(value, blocks));
      ASSERT_TRUE(launch(value, blocks));
      expected += 2 * value * blocks;
    }
  EXPECT_EQ(sum(), expected);
}

TEST_F(Graphs, GetNewArgumentsWhileTheyRun) {
  graphs.make(first);
  std::int64_t expected = 0;
  for (std::int64_t value = 0; value < 1000; ++value) {
    ASSERT_TRUE(launch(value));  // nobody waits
    expected += value;
  }
  EXPECT_EQ(sum(), expected);
}

TEST_F(Graphs, ThatRepeatGetNoNewArguments) {
  graphs.make(first);
  ASSERT_TRUE(launch(5));
  const auto before = dunnageSimCalls("cuGraphExecKernelNodeSetParams");
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(launch(5));
  EXPECT_EQ(dunnageSimCalls("cuGraphExecKernelNodeSetParams"), before);
  EXPECT_EQ(sum(), 50);
}

TEST_F(Graphs, AreLaunchedByThreads) {
  graphs.make(first);
  const auto many = [&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(launch(1));
  };
  std::thread one(many), two(many);
  one.join();
  two.join();
  EXPECT_EQ(sum(), 400);
}

TEST_F(Graphs, ThatCannotBeMadeAreLeftOut) {
  dunnageSimFail("cuGraphInstantiate", 7, CUDA_ERROR_OUT_OF_MEMORY, 0);
  graphs.make(first);
  EXPECT_FALSE(launch(1));
  EXPECT_EQ(sum(), 0);
}

TEST_F(Graphs, ThatGetNoArgumentsLaunchNothing) {
  graphs.make(first);
  dunnageSimFail("cuGraphExecKernelNodeSetParams", 0, CUDA_ERROR_INVALID_VALUE, 0);
  EXPECT_FALSE(launch(3));
  EXPECT_TRUE(launch(3));
  EXPECT_EQ(sum(), 3);
}

TEST_F(Graphs, ThatFailAreToldOf) {
  graphs.make(first);
  dunnageSimFail("cuGraphLaunch", 0, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0);
  EXPECT_THROW(launch(3), Error);
  EXPECT_TRUE(launch(3));
  EXPECT_EQ(sum(), 3);
}

TEST_F(Graphs, AreOnlyMadeIfTheyAreWanted) {
  KernelGraphs::use(KernelGraphs::Use::never);
  graphs.make(first);
  EXPECT_FALSE(launch(1));
  KernelGraphs::use(KernelGraphs::Use::automatic);  // not with the simulated driver
  graphs.make(first);
  EXPECT_FALSE(launch(1));
}

TEST_F(Graphs, CanBeReleasedAndMadeAgain) {
  graphs.make(first);
  ASSERT_TRUE(launch(2));
  graphs.release();
  EXPECT_FALSE(launch(2));
  graphs.make(first);
  ASSERT_TRUE(launch(2));
  EXPECT_EQ(sum(), 4);
}

}  // namespace
}  // namespace dunnage::device
