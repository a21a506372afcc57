#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/gpu.hpp"
#include "sim/sim.h"
#include "simulated_driver.hpp"

namespace dunnage::device {
namespace {

Driver driver = simulated_driver();  // the Gpu of a context refers to the first one

int priority = 1;
CUresult note_priority(CUstream* stream, unsigned flags, int wanted) {
  priority = wanted;
  return cuStreamCreate(stream, flags);
}

// A GPU runs the blocks of a large kernel before those of a later kernel of equal priority, so our
// kernels would wait for the program's.
TEST(Lanes, StreamsHaveTheGreatestPriority) {
  driver.cuStreamCreateWithPriority = note_priority;
  CUcontext context{};
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  const auto lane = Gpu::current(driver).take(0, false, false);
  EXPECT_EQ(priority, std::numeric_limits<int>::min());
  Gpu::current(driver).give(lane);
}

/// A Gpu with its first kernel loaded, so that it has completion flags.
class Completion : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context{};
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    gpu = &Gpu::current(driver);
    const std::size_t size = sizeof(int);
    dunnageSimRegisterKernel(
        "any", [](const dunnageSimLaunch*) {}, &size, 1);
    gpu->kernel(0, [] { return std::string("any"); });
  }
  void TearDown() override { Gpu::release_all(driver); }
  /// As the last block of a kernel does, which comes after the stream's copy from the flag.
  static void tell(const CompletionFlag& flag) {
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    __atomic_add_fetch(flag.told, 1, __ATOMIC_RELEASE);
  }

  Gpu* gpu = nullptr;
};

CUresult always_busy(CUstream) { return CUDA_ERROR_NOT_READY; }
CUresult failed(CUstream) { return CUDA_ERROR_ILLEGAL_ADDRESS; }

TEST_F(Completion, IsKnownBeforeTheStreamIsIdle) {
  const auto query = std::exchange(driver.cuStreamQuery, always_busy);
  {
    Borrowed lane(*gpu);
    for (int kernel = 0; kernel < 3; ++kernel) {
      lane.busy();
      const auto* flag = lane.completion_flag();
      ASSERT_TRUE(flag);
      lane.completes();
      EXPECT_FALSE(lane.done());
      tell(*flag);
      EXPECT_TRUE(lane.done());
    }
    // Work that tells nothing comes after a kernel that tells its end.
    lane.busy();
    const auto* flag = lane.completion_flag();
    lane.completes();
    tell(*flag);
    lane.busy();
    EXPECT_FALSE(lane.done());
    driver.cuStreamQuery = query;
    lane.synchronize();
    EXPECT_TRUE(lane.done());
  }
}

TEST_F(Completion, IsAskedOfTheDriverNowAndThen) {
  Borrowed lane(*gpu);
  lane.busy();
  ASSERT_TRUE(lane.completion_flag());
  lane.completes();
  const auto query = std::exchange(driver.cuStreamQuery, failed);
  EXPECT_THROW(for (int i = 0; i < 1000; ++i) lane.done(), Error);
  driver.cuStreamQuery = query;
}

TEST_F(Completion, GoesOnAfterAKernelThatNeverRan) {
  std::uint64_t* told = nullptr;
  {
    Borrowed lane(*gpu);
    lane.busy();
    told = lane.completion_flag()->told;
    lane.completes();
  }
  Borrowed lane(*gpu);
  lane.busy();
  const auto* flag = lane.completion_flag();
  ASSERT_EQ(flag->told, told);  // of the lane that was given back
  lane.completes();
  tell(*flag);
  EXPECT_TRUE(flag->reached());
}

TEST_F(Completion, StreamsHaveFlagsOfTheirOwnUntilNoneIsLeft) {
  std::vector<std::unique_ptr<Borrowed>> lanes;
  std::set<std::uint64_t*> all;
  for (int i = 0; i < 70; ++i) {
    lanes.push_back(std::make_unique<Borrowed>(*gpu));
    const auto* flag = lanes.back()->completion_flag();
    if (!flag) continue;
    EXPECT_TRUE(all.insert(flag->told).second);
  }
  EXPECT_EQ(all.size(), 64u);
}

}  // namespace
}  // namespace dunnage::device
