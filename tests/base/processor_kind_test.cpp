#include "base/processor_kind.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace dunnage::base {
namespace {

TEST(ProcessorKind, OfKnownProcessors) {
  EXPECT_EQ(kind_of({"GenuineIntel", 6, 0x8f}), ProcessorKind::intel);
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x17, 0x31}), ProcessorKind::other);  // Zen 2
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x19, 0x01}), ProcessorKind::zen3);   // EPYC 7003
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x19, 0x21}), ProcessorKind::zen3);   // Ryzen 5000
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x19, 0x11}), ProcessorKind::zen4);   // EPYC 9004
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x19, 0x61}), ProcessorKind::zen4);   // Ryzen 7000
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x19, 0xa0}), ProcessorKind::zen4);   // EPYC 97x4
  EXPECT_EQ(kind_of({"AuthenticAMD", 0x1a, 0x02}), ProcessorKind::zen5);   // EPYC 9005
  EXPECT_EQ(kind_of({"HygonGenuine", 0x18, 0x00}), ProcessorKind::other);
  EXPECT_EQ(kind_of({}), ProcessorKind::other);
}

TEST(ProcessorKind, ThisProcessorHasAVendor) {
#if defined(__x86_64__)
  EXPECT_EQ(this_processor().vendor.size(), 12u);
#else
  EXPECT_EQ(this_processor().vendor.size(), std::string_view("implementer 0x41").size());
#endif
}

}  // namespace
}  // namespace dunnage::base
