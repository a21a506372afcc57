#include "pack/gpu/short_blocks.hpp"

#include <gtest/gtest.h>

#include "type/text.hpp"

namespace dunnage::pack::gpu {
namespace {

constexpr std::uintptr_t begin = std::uintptr_t{1} << 33, small_page = 4 << 10, large_page = 64 << 10;

/// What a type has in short blocks, in an allocation of so many bytes. Nothing is read there.
ShortBlocks in(const char* type, std::uintptr_t allocation, std::int64_t count = 1) {
  const auto recipe = std::make_shared<const GpuRecipe>(type::layout_of(*type::parse(type)), count);
  device::Place place{device::Memory::device, 0, nullptr, begin, begin, begin + allocation, 1};
  return short_blocks_of({reinterpret_cast<const void*>(begin), recipe, nullptr, place});
}

// 65536 doubles, 4 KiB apart: 512 KiB of data in 256 MiB.
constexpr auto face = "vector(65537,1,512,double)";
constexpr std::uintptr_t large_pages = 4097 * large_page, small_pages = large_pages + small_page;

TEST(ShortBlocks, CostMoreInManySmallPages) {
  const auto slow = in(face, small_pages), fast = in(face, large_pages);
  EXPECT_EQ(slow.bytes, 65537 * 8);
  EXPECT_EQ(slow.cost, 8 * slow.bytes);
  EXPECT_TRUE(slow.much());
  EXPECT_EQ(fast.bytes, slow.bytes);
  EXPECT_EQ(fast.cost, fast.bytes);
  EXPECT_FALSE(fast.much());
}

TEST(ShortBlocks, AllocationsAreRoundedUpToPages) {
  EXPECT_FALSE(in(face, large_pages - 1).much());
  EXPECT_TRUE(in(face, large_pages + 1).much());
}

TEST(ShortBlocks, FewSmallPagesCostNoMore) {
  const auto near = in("vector(65537,1,8,double)", small_pages);
  EXPECT_EQ(near.cost, near.bytes);
}

TEST(ShortBlocks, AreMuchFrom4MiBOn) {
  EXPECT_TRUE(in("vector(524288,1,8,double)", large_pages).much());
  EXPECT_FALSE(in("vector(524287,1,8,double)", large_pages).much());
  auto two = in("vector(262144,1,8,double)", large_pages);
  EXPECT_FALSE(two.much());
  two += two;
  EXPECT_TRUE(two.much());
}

TEST(ShortBlocks, AreShortAndFarApart) {
  EXPECT_EQ(in("vector(600000,2,8,double)", large_pages).bytes, 0);                // 16 bytes
  EXPECT_EQ(in("vector(600000,1,2,double)", large_pages).bytes, 0);                // 16 bytes apart
  EXPECT_EQ(in("double", large_pages, 600000).bytes, 0);                           // contiguous
  EXPECT_EQ(in("vector(600000,1,-8,double)", large_pages).bytes, 600000 * 8);      // backwards
  EXPECT_EQ(in("vector(600000,1,4,double)", large_pages).bytes, 600000 * 8);       // 32 bytes apart
  EXPECT_EQ(in("contiguous(0,vector(600000,1,8,double))", large_pages).bytes, 0);  // nothing
}

}  // namespace
}  // namespace dunnage::pack::gpu
