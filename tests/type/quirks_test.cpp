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
