#include "plan/data_kind.hpp"

#include <gtest/gtest.h>

namespace dunnage::plan {
namespace {

TEST(DataKind, SizesToAFactorOfTwoAreOneKind) {
  const auto of = [](std::int64_t size, std::int64_t span) { return kind_of("rows[8]", {size, size / 8}, span); };
  EXPECT_EQ(of(32768, 65528), of(16392, 32776));
  EXPECT_NE(of(32768, 65528), of(16384, 32760)) << "16 KiB is the most of another kind";
  EXPECT_NE(of(32768, 65528), of(32776, 65544));
  EXPECT_NE(of(32768, 65528), of(32768, 1 << 20)) << "spread over more memory";
  EXPECT_EQ(of(32768, 65528).most(), 32768);
  EXPECT_EQ(of(32768, 65528).most_spread(), 2);
  EXPECT_EQ(of(32768, 65536).most_spread(), 4);
}

TEST(DataKind, BlocksKernelsAndElementsTellKindsApart) {
  const auto kind = kind_of("rows[8]", {4096, 512, false, false}, 8192);
  EXPECT_NE(kind, kind_of("rows[8]", {4096, 256, false, false}, 8192));
  EXPECT_NE(kind, kind_of("blocks", {4096, 512, false, false}, 8192));
  EXPECT_NE(kind, kind_of("rows[8]", {4096, 512, false, true}, 8192));
  EXPECT_EQ(kind, kind_of("rows[8]", {4096, 512, true, false}, 8192)) << "whoever stores past the caches";
}

TEST(DataKind, IsTextForTheReport) {
  EXPECT_EQ(text(kind_of("rows[8]", {5000, 625}, 10000)), "up to 8 KiB, blocks of 8 B, rows[8]");
  EXPECT_EQ(kind_of("copy", {1, 0}, 1).block, 1);
}

}  // namespace
}  // namespace dunnage::plan
