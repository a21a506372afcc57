#include <gtest/gtest.h>

#include <limits>

#include "device/gpu.hpp"
#include "simulated_driver.hpp"

namespace dunnage::device {
namespace {

int priority = 1;
CUresult note_priority(CUstream* stream, unsigned flags, int wanted) {
  priority = wanted;
  return cuStreamCreate(stream, flags);
}

// A GPU runs the blocks of a large kernel before those of a later kernel of equal priority, so our
// kernels would wait for the program's.
TEST(Lanes, StreamsHaveTheGreatestPriority) {
  static Driver driver = simulated_driver();  // a Gpu refers to it until the program ends
  driver.cuStreamCreateWithPriority = note_priority;
  CUcontext context{};
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  const auto lane = Gpu::current(driver).take(0, false, false);
  EXPECT_EQ(priority, std::numeric_limits<int>::min());
  Gpu::current(driver).give(lane);
}

}  // namespace
}  // namespace dunnage::device
