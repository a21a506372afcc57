#include "base/machine.hpp"

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

const Machine epyc{"AMD EPYC", 2, 1 << 20};

TEST(Machine, ThisOneHasAName) {
  const auto& machine = this_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GT(machine.cores, 0);
  EXPECT_GT(machine.second_level_cache, 0);
  EXPECT_EQ(machine.processor.find_first_of("\n\t"), std::string::npos);
}

TEST(Machine, Described) { EXPECT_EQ(describe(epyc), "AMD EPYC, 2 cores, 1 MiB of second-level cache"); }

TEST(Machine, TheHashIsAFilesNameAndStays) { EXPECT_EQ(short_hash(epyc), "0d4a28c1"); }

TEST(Machine, EveryPartCounts) {
  for (const auto& other :
       {Machine{"AMD EPYC 2", 2, 1 << 20}, Machine{"AMD EPYC", 4, 1 << 20}, Machine{"AMD EPYC", 2, 1 << 21}}) {
    EXPECT_NE(epyc, other);
    EXPECT_NE(short_hash(epyc), short_hash(other));
  }
}

}  // namespace
}  // namespace dunnage::base
