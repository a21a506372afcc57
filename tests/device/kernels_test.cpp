// An installation without kernels, beside a driver that is not the simulated one.
#include "device/kernels.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/driver.hpp"

namespace dunnage::device {
namespace {

class Installation : public testing::Test {
 protected:
  void SetUp() override {
    folder = (std::filesystem::temp_directory_path() / "dunnage-kernels-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder += '/';
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void add_kernels() { std::ofstream(kernels_file(folder)) << "kernels"; }

  std::string folder;
};

TEST_F(Installation, HasKernelsIfTheFileCanBeRead) {
  EXPECT_FALSE(has_kernels(folder));
  add_kernels();
  EXPECT_TRUE(has_kernels(folder));
}

TEST_F(Installation, CouldHandleDevicesIfThereAreKernelsAndADriver) {
  const auto node = folder + "node";
  EXPECT_FALSE(could_handle_devices(folder, node.c_str()));
  std::ofstream(node) << "";
  EXPECT_FALSE(could_handle_devices(folder, node.c_str()));
  add_kernels();
  EXPECT_TRUE(could_handle_devices(folder, node.c_str()));
  EXPECT_FALSE(could_handle_devices(folder, (node + "s").c_str()));
}

TEST_F(Installation, WithoutKernelsLeavesADriverUnused) {
  look_for_driver(Source::automatic, folder);
  EXPECT_EQ(driver(), nullptr);
  EXPECT_EQ(why_driver_is_unused(), nullptr) << "no driver is loaded";
  ASSERT_NE(dlopen(DUNNAGE_TEST_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  EXPECT_EQ(driver(), nullptr);
  EXPECT_STREQ(why_driver_is_unused(), without_kernels);
  EXPECT_NE(driver_without_kernels(), nullptr);

  // The same driver is used by an installation with kernels. The file's content is not read before
  // the first launch.
  add_kernels();
  look_for_driver(Source::automatic, folder);
  EXPECT_EQ(why_driver_is_unused(), nullptr);
  ASSERT_NE(dlopen(DUNNAGE_TEST_OTHER, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  EXPECT_NE(driver(), nullptr);
  EXPECT_EQ(why_driver_is_unused(), nullptr);
  EXPECT_EQ(driver_without_kernels(), nullptr);
}

}  // namespace
}  // namespace dunnage::device
