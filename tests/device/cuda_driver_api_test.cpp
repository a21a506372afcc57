// Whether our prototypes of the driver are still those of the real <cuda.h>. Built only if there is
// that header.
#include "device/cuda_driver_api.h"

#include <gtest/gtest.h>

#include "cuda_driver_api_facts.hpp"

namespace dunnage::device {
namespace {

/// Whether a constant counts attributes or options, of which a later minor version of CUDA has
/// more.
bool grows(const std::string& name) { return name.ends_with("_ATTRIBUTE_MAX") || name == "CU_JIT_NUM_OPTIONS"; }

TEST(DriverPrototypes, AreThoseOfTheRealHeader) {
  if (version_of_cuda() / 1000 != CUDA_VERSION / 1000)
    GTEST_SKIP() << "the real header is that of CUDA " << version_of_cuda() / 1000;
  const auto ours = facts_of_ours(), real = facts_of_cuda();
  ASSERT_EQ(ours.size(), real.size());
  EXPECT_GT(ours.size(), 300u) << "the names were not read from our header";
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].name, real[i].name);
    if (grows(ours[i].name))
      EXPECT_LE(std::stoi(ours[i].text), std::stoi(real[i].text)) << ours[i].name;
    else
      EXPECT_EQ(ours[i].text, real[i].text) << ours[i].name;
  }
}

}  // namespace
}  // namespace dunnage::device
