// Where the bytes of a case lie, and which sectors of memory they touch.
#include "pack_device/geometry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "pack_device/sectors.hpp"

namespace bench {
namespace {

struct Named {
  const char* name;
  Geometry geometry;
};

const std::vector<std::uint64_t> offsets{70, 3, 200, 90}, even{0, 5, 12, 13, 40};

std::vector<Named> geometries() {
  Geometry box{.base = 33, .outer = {3, 1024}, .inner = {5, 64}, .bytes = 40, .length = 40};
  Geometry aligned{.base = 32, .outer = {3, 1024}, .inner = {5, 128}, .bytes = 96, .length = 96};
  Geometry touching{.base = 7, .outer = {2, 500}, .inner = {6, 40}, .bytes = 33, .length = 33};
  Geometry transpose{.base = 0, .outer = {16, 8}, .inner = {16, 128}, .bytes = 8, .length = 8};
  Geometry contiguous{.base = 1, .bytes = 1000, .length = 1000};
  Geometry list{.base = 2, .inner = {3, 400}, .bytes = 20, .blocks = 4, .length = 5, .offsets = offsets.data()};
  Geometry fields{
      .base = 8, .inner = {7, 256}, .bytes = 40, .blocks = 4, .offsets = offsets.data(), .starts = even.data()};
  Geometry vector{.base = 8, .inner = {50, 16}, .bytes = 8, .length = 8};
  return {{"box", box},
          {"aligned", aligned},
          {"touching", touching},
          {"transpose", transpose},
          {"contiguous", contiguous},
          {"list", list},
          {"fields", fields},
          {"vector", vector}};
}

std::vector<std::uint64_t> places(const Geometry& g) {
  std::vector<std::uint64_t> all;
  for_each_block(g, [&](std::uint64_t offset, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; ++i) all.push_back(offset + i);
  });
  return all;
}

TEST(Geometry, PlacesAreThoseOfTheBlocksInOrder) {
  for (const auto& [name, g] : geometries()) {
    const auto expected = places(g);
    ASSERT_EQ(payload(g), expected.size()) << name;
    for (std::uint64_t i = 0; i < expected.size(); ++i) ASSERT_EQ(place(g, i), expected[i]) << name << ", byte " << i;
  }
}

TEST(Geometry, PatternsDifferFromPlaceToPlaceAndFromSeedToSeed) {
  int equal = 0;
  for (std::uint64_t i = 0; i < 4096; ++i)
    equal += (pattern(i, 1) == pattern(i + 1, 1)) + (pattern(i, 1) == pattern(i, 2));
  EXPECT_LT(equal, 2 * 4096 / 64);
  for (std::uint64_t i = 0; i < 64; ++i)
    EXPECT_EQ(pattern(i, 3), static_cast<unsigned char>(pattern_word(i / 8, 3) >> (8 * (i % 8))));
}

TEST(Sectors, AreCountedOnceAndProbesTouchEachOnce) {
  for (const auto& [name, g] : geometries()) {
    std::set<std::uint64_t> needed;
    std::vector<int> bytes(4096 / sector);
    const auto all = places(g);
    const std::set<std::uint64_t> own(all.begin(), all.end());
    for (const auto at : own) needed.insert(at / sector), ++bytes[at / sector];
    std::uint64_t whole = 0;
    for (const int count : bytes) whole += count == sector;

    const Sectors found = sectors(g);
    EXPECT_EQ(found.touched, needed.size()) << name;
    EXPECT_EQ(found.whole, whole) << name;
    EXPECT_EQ(found.unpack_traffic(100), 100 + sector * (2 * needed.size() - whole)) << name;
    std::set<std::uint64_t> probed;
    for (std::uint32_t i = 0; i < found.touched; ++i) {
      const Touched one = found.rows ? touched(*found.rows, i) : touched(found.list.data(), i);
      EXPECT_TRUE(probed.insert(one.first / sector).second) << name << ", sector " << i;
      EXPECT_EQ(one.whole, bytes[one.first / sector] == sector) << name << ", sector " << i;
      if (one.whole) {
        EXPECT_EQ(one.first % sector, 0u) << name;
      }
    }
    EXPECT_EQ(probed, needed) << name;
  }
}

TEST(Sectors, HaveAClosedFormWhereRowsLieAlikeOrNothingIsLeftOut) {
  std::set<std::string> closed;
  for (const auto& [name, g] : geometries())
    if (sectors(g).rows) closed.insert(name);
  EXPECT_EQ(closed, (std::set<std::string>{"aligned", "box", "contiguous", "transpose", "vector"}));
}

}  // namespace
}  // namespace bench
