#include "device/overlapping_launches.hpp"

#include "kernel_test.hpp"

namespace dunnage::device {
namespace {

class Overlapping : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    kernel = kernel_of<Step>("step", Step::run);
  }
  void put(const OverlappingLaunches& launches, std::int64_t factor, std::int64_t value) const {
    Step step{memory, factor, value};
    launches.launch(kernel, 1, 32, s, &step);
  }
  OverlappingLaunches looked(const Driver& by) const {
    OverlappingLaunches launches(by);
    launches.look(kernel);
    return launches;
  }

  CUfunction kernel{};
};

TEST_F(Overlapping, RunInTheirOrder) {
  const auto launches = looked(driver);
  ASSERT_TRUE(launches.possible(s));
  put(launches, 1, 3);
  put(launches, 10, 4);
  EXPECT_EQ(number(), 34);
}

TEST_F(Overlapping, NeverGoIntoDefaultStreams) {
  const auto launches = looked(driver);
  for (const CUstream stream : {CUstream{}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD})
    EXPECT_FALSE(launches.possible(stream));
}

TEST_F(Overlapping, AreNotPossibleBeforeOneHasLooked) { EXPECT_FALSE(OverlappingLaunches(driver).possible(s)); }

TEST_F(Overlapping, AreNotPossibleIfNobodyWantsGraphs) {
  for (const auto use : {KernelGraphs::Use::never, KernelGraphs::Use::automatic}) {
    KernelGraphs::use(use);
    EXPECT_FALSE(looked(driver).possible(s));
  }
}

TEST_F(Overlapping, NeedANewDriverAndKernelsThatWait) {
  auto older = driver;
  older.cuDriverGetVersion = [](int* version) {
    *version = 12020;
    return CUDA_SUCCESS;
  };
  EXPECT_FALSE(looked(older).possible(s));
  auto much_older = driver;
  much_older.cuLaunchKernelEx = nullptr;
  EXPECT_FALSE(looked(much_older).possible(s));
  auto other_kernels = driver;
  other_kernels.cuFuncGetAttribute = [](int* value, CUfunction_attribute, CUfunction) {
    *value = 80;
    return CUDA_SUCCESS;
  };
  EXPECT_FALSE(looked(other_kernels).possible(s));
}

TEST_F(Overlapping, AnErrorOfTheDriverIsThrown) {
  const auto launches = looked(driver);
  dunnageSimFail("cuLaunchKernelEx", 0, CUDA_ERROR_OUT_OF_MEMORY, 0);
  EXPECT_THROW(put(launches, 1, 1), Error);
  put(launches, 1, 2);
  EXPECT_EQ(number(), 2);
}

}  // namespace
}  // namespace dunnage::device
