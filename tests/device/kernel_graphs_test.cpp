#include "device/kernel_graphs.hpp"

#include <thread>

#include "kernel_test.hpp"

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

class Graphs : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    kernel = kernel_of<Parameter>("add", add);
    first = kernel_of<Parameter>("other", other);
  }
  bool launch(std::int64_t value, std::uint32_t blocks = 1) {
    const Parameter parameter{memory, value};
    return graphs.launch({kernel, blocks, 32, 0, &parameter, sizeof parameter}, s);
  }
  std::int64_t sum() const { return number(); }

  KernelGraphs graphs{driver};
  CUfunction kernel{}, first{};
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
