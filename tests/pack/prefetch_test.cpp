#include "pack/cpu/prefetch.hpp"

#include <gtest/gtest.h>

namespace dunnage::pack {
namespace {

using Kind = base::ProcessorKind;

TEST(Prefetch, LeavesShortStridesToTheHardware) {
  for (const auto kind : {Kind::intel, Kind::zen3, Kind::zen4, Kind::zen5, Kind::other})
    for (const auto direction : {Direction::pack, Direction::unpack})
      for (const auto stride : {-64, -16, 16, 64}) EXPECT_EQ(prefetch_of(kind, direction, 8, stride), Prefetch::none);
  EXPECT_EQ(prefetch_of(Kind::zen5, Direction::pack, 8, -1024), Prefetch::none);
  EXPECT_EQ(prefetch_of(Kind::zen5, Direction::pack, 8, -2048), Prefetch::second_level);
}

TEST(Prefetch, InBatchesOnlyIfBlocksAreLinesOfSharedPages) {
  EXPECT_EQ(prefetch_of(Kind::zen4, Direction::pack, 64, 512), Prefetch::batches);
  EXPECT_EQ(prefetch_of(Kind::zen4, Direction::unpack, 8, -512), Prefetch::batches);
  EXPECT_EQ(prefetch_of(Kind::zen4, Direction::pack, 128, 512), Prefetch::second_level);
  EXPECT_EQ(prefetch_of(Kind::zen4, Direction::pack, 64, 4096), Prefetch::second_level);
}

TEST(Prefetch, OfThePackedBytesIfBlocksHaveSeveralLines) {
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::pack, 100, 1024), Prefetch::packed);
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::pack, 64, 1024), Prefetch::second_level);
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::pack, 100, 4096), Prefetch::second_level);
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::pack, 2048, 3000), Prefetch::second_level);
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::unpack, 100, 1024), Prefetch::first_level);
  EXPECT_EQ(prefetch_of(Kind::zen5, Direction::pack, 100, 1024), Prefetch::none);
}

TEST(Prefetch, IntoTheFirstLevelForStoresThatSharePages) {
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::unpack, 8, 512), Prefetch::first_level);
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::unpack, 8, 8192), Prefetch::second_level);
  EXPECT_EQ(prefetch_of(Kind::intel, Direction::pack, 8, 512), Prefetch::second_level);
}

}  // namespace
}  // namespace dunnage::pack
