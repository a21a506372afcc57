#include "device/pinned.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace dunnage::device {
namespace {

int made = 0, freed = 0;
bool out_of_memory = false;

Driver fake() {
  Driver driver;
  driver.cuMemAllocHost = [](void** data, std::size_t size) -> CUresult {
    if (out_of_memory) return CUDA_ERROR_OUT_OF_MEMORY;
    ++made;
    *data = std::malloc(size);
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void* data) -> CUresult {
    ++freed;
    std::free(data);
    return CUDA_SUCCESS;
  };
  made = freed = 0;
  out_of_memory = false;
  return driver;
}

constexpr std::size_t limit = 64 << 10;

TEST(PinnedPool, KeepsWhatIsGivenBack) {
  const auto driver = fake();
  PinnedPool pool(driver);
  auto* first = pool.take(5000, limit);
  ASSERT_NE(first, nullptr);
  pool.give(first, 5000);
  EXPECT_EQ(pool.take(8192, limit), first) << "of the same power of two";
  auto* second = pool.take(8192, limit);
  EXPECT_NE(second, first);
  EXPECT_EQ(made, 2);
  pool.give(first, 8192);
  pool.give(second, 8192);
  pool.release();
  EXPECT_EQ(freed, 2);
}

TEST(PinnedPool, StaysBelowItsLimit) {
  const auto driver = fake();
  PinnedPool pool(driver);
  EXPECT_EQ(pool.take(limit + 1, limit), nullptr);
  auto* most = pool.take(limit, limit);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(pool.take(1, limit), nullptr);
  pool.give(most, limit);
  EXPECT_EQ(pool.take(1, limit), nullptr) << "idle memory counts";
  EXPECT_EQ(pool.take(limit, limit), most);
  pool.give(most, limit);
  pool.release();
}

TEST(PinnedPool, IsEmptyWhereThereIsNoMemory) {
  const auto driver = fake();
  PinnedPool pool(driver);
  out_of_memory = true;
  EXPECT_EQ(pool.take(limit, limit), nullptr);
  out_of_memory = false;
  auto* data = pool.take(limit, limit);
  EXPECT_NE(data, nullptr) << "what was not made does not count";
  pool.release();
  pool.give(data, limit);
  EXPECT_EQ(freed, 0) << "after the release it goes with the context";
  std::free(data);
}

}  // namespace
}  // namespace dunnage::device
