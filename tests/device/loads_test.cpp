// A driver that comes late is found, however often there was none before. The process of this test
// is not linked against one.
#include "device/loads.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "device/driver.hpp"

namespace dunnage::device {
namespace {

TEST(Loads, ADriverThatComesLateIsFound) {
  look_for_driver(Source::automatic, DUNNAGE_TEST_FOLDER);
  EXPECT_FALSE(surely_nothing_loaded()) << "before anyone has asked";
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(driver(), nullptr);
  EXPECT_TRUE(surely_nothing_loaded());
  // Another library takes the mark its place; asked long enough there is a new one.
  ASSERT_NE(dlopen(DUNNAGE_TEST_OTHER, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  EXPECT_FALSE(surely_nothing_loaded());
  EXPECT_FALSE(nothing_loaded());
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(driver(), nullptr);
  EXPECT_TRUE(surely_nothing_loaded());
  // A third library; settled, the answer is certain at once.
  ASSERT_NE(dlopen(DUNNAGE_TEST_THIRD, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  EXPECT_FALSE(surely_nothing_loaded());
  settle_driver();
  EXPECT_TRUE(surely_nothing_loaded());
  EXPECT_EQ(driver(), nullptr);
  ASSERT_NE(dlopen(DUNNAGE_TEST_FOLDER "sim/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  EXPECT_FALSE(surely_nothing_loaded());
  EXPECT_NE(driver(), nullptr);
}

}  // namespace
}  // namespace dunnage::device
