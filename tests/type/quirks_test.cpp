#include "type/quirks.hpp"

#include <gtest/gtest.h>

#include "type/text.hpp"

namespace dunnage::type {
namespace {

TEST(Quirks, StrideOfMinusOneByte) {
  EXPECT_TRUE(has_stride_of_minus_one(*parse("vector(3,2,-1,byte)")));
  EXPECT_TRUE(has_stride_of_minus_one(*parse("contiguous(2,dup(hvector(2,1,-1,double)))")));
  EXPECT_FALSE(has_stride_of_minus_one(*parse("vector(3,2,-1,int)")));
  EXPECT_FALSE(has_stride_of_minus_one(*parse("vector(1,2,-1,byte)")));
}

TEST(Quirks, EmptyStructMember) {
  EXPECT_TRUE(has_empty_struct_member(*parse("struct([1,2],[0,8],[int,contiguous(0,int)])")));
  EXPECT_FALSE(has_empty_struct_member(*parse("struct([1,0],[0,8],[int,int])")));
}

TEST(Quirks, NegativeExtent) {
  EXPECT_TRUE(has_negative_extent(*parse("contiguous(2,resized(0,-8,int))")));
  EXPECT_FALSE(has_negative_extent(*parse("contiguous(2,resized(-8,8,int))")));
}

TEST(Quirks, ZeroExtent) {
  EXPECT_TRUE(has_zero_extent(*parse("indexed([2,1],[0,4],resized(0,0,int))")));
  EXPECT_FALSE(has_zero_extent(*parse("struct([1,1],[0,8],[int,contiguous(0,int)])")));
}

TEST(Quirks, StrideOfBlocklength) {
  EXPECT_TRUE(has_stride_of_blocklength(*parse("hvector(2,3,3,int)")));
  EXPECT_FALSE(has_stride_of_blocklength(*parse("hvector(2,3,3,byte)")));
  EXPECT_FALSE(has_stride_of_blocklength(*parse("hvector(1,3,3,int)")));
  EXPECT_FALSE(has_stride_of_blocklength(*parse("vector(2,3,3,int)")));
  EXPECT_TRUE(has_stride_of_blocklength(*hindexed_block(2, {0, 2}, basic("short", 2))));
  EXPECT_TRUE(has_stride_of_blocklength(*indexed_block(2, {0, 1}, basic("short", 2))));
  EXPECT_TRUE(has_stride_of_blocklength(*vector(2, 2, 1, basic("short", 2))));
  EXPECT_TRUE(has_stride_of_blocklength(*hindexed({3, 1}, {8, 11}, basic("short", 2))));
  EXPECT_TRUE(has_stride_of_blocklength(*parse("struct([4,4],[0,4],[short,short])")));
  EXPECT_FALSE(has_stride_of_blocklength(*parse("struct([4,4],[0,4],[byte,byte])")));
  EXPECT_FALSE(has_stride_of_blocklength(*hindexed_block(2, {0, 4}, basic("short", 2))));
}

TEST(Quirks, CyclicBlocks) {
  const auto two = [](Distribution first, std::int64_t argument, Distribution second) {
    return darray(4, 0, {6, 5}, {first, second}, {argument, default_distribution_argument}, {2, 2}, Order::c,
                  basic("int", 4));
  };
  EXPECT_TRUE(has_cyclic_blocks(*contiguous(2, two(Distribution::cyclic, 2, Distribution::block))));
  EXPECT_FALSE(has_cyclic_blocks(*two(Distribution::cyclic, default_distribution_argument, Distribution::block)));
  EXPECT_TRUE(has_cyclic_blocks(*two(Distribution::cyclic, 2, Distribution::cyclic)));
  EXPECT_FALSE(has_cyclic_blocks(*darray(2, 0, {6}, {Distribution::cyclic}, {2}, {2}, Order::c, basic("int", 4))));
}

TEST(Quirks, LargeElementsOffGrid) {
  const auto complex = basic("double_complex", 16);
  EXPECT_TRUE(has_large_elements_off_grid(*hvector(3, 1, 24, complex)));
  EXPECT_TRUE(has_large_elements_off_grid(*contiguous(2, resized(0, 40, complex))));
  EXPECT_TRUE(has_large_elements_off_grid(*structure({1, 1}, {0, 8}, {basic("double", 8), complex})));
  EXPECT_FALSE(has_large_elements_off_grid(*hvector(3, 1, 48, complex)));
  EXPECT_FALSE(has_large_elements_off_grid(*vector(3, 2, 7, complex)));
  EXPECT_FALSE(has_large_elements_off_grid(*hvector(3, 1, 24, basic("double", 8))));
}

TEST(Quirks, MixedElements) {
  EXPECT_TRUE(has_mixed_elements(*parse("vector(3,1,2,double_int)")));
  EXPECT_TRUE(has_mixed_elements(*parse("struct([1,1],[0,8],[int,float])")));
  EXPECT_FALSE(has_mixed_elements(*parse("struct([1,1],[0,8],[int,vector(2,1,2,int)])")));
}

TEST(Quirks, SharedPartsAreAskedOnce) {
  auto spec = basic("int", 4);
  for (int i = 0; i < 60; ++i) spec = structure({1, 1}, {0, 0}, {spec, spec});
  EXPECT_FALSE(has_negative_extent(*spec));
}

}  // namespace
}  // namespace dunnage::type
