#include "type/layout.hpp"

#include <gtest/gtest.h>

#include "type/text.hpp"
#include "type/typemap.hpp"

namespace dunnage::type {
namespace {

std::string canonical(const char* text) { return to_string(layout_of(*parse(text)).data); }

struct Golden {
  const char* type;
  const char* layout;
};

class Canonical : public testing::TestWithParam<Golden> {};

TEST_P(Canonical, Layout) { EXPECT_EQ(canonical(GetParam().type), GetParam().layout); }

INSTANTIATE_TEST_SUITE_P(
    Table, Canonical,
    testing::Values(Golden{"double", "+0 [8]"}, Golden{"contiguous(7,double)", "+0 [56]"}, Golden{"dup(int)", "+0 [4]"},
                    Golden{"vector(4,1,2,double)", "+0 4x(+16) [8]"}, Golden{"vector(4,2,2,double)", "+0 [64]"},
                    Golden{"vector(3,2,-1,byte)", "+0 3x(-1) [2]"}, Golden{"hvector(3,1,100,int)", "+0 3x(+100) [4]"},
                    // Rows of a box, listed: a nest again.
                    Golden{"hindexed_block(5,[0,10,20,100,110,120],byte)", "+0 2x(+100) 3x(+10) [5]"},
                    Golden{"hindexed([5,5,5,5],[7,17,107,117],byte)", "+7 2x(+100) 2x(+10) [5]"},
                    // Adjacent blocks are joined before anything else, empty ones are dropped.
                    Golden{"indexed([1,0,2,1],[0,9,1,3],int)", "+0 [16]"},
                    Golden{"indexed_block(1,[0,1,5,6,10,11],int)", "+0 3x(+20) [8]"},
                    Golden{"indexed_block(1,[0,3,4,9],int)", "+0 list 3 of 16 bytes in all"},
                    Golden{"hindexed_block(1,[9,0,4],double)", "+9 list 3 of [8]"},
                    // A width-1 face at a non-zero offset; a full row, and several.
                    Golden{"subarray([4,5,6],[4,5,1],[0,0,2],C,byte)", "+2 20x(+6) [1]"},
                    Golden{"subarray([4,5,6],[4,1,6],[0,3,0],C,byte)", "+18 4x(+30) [6]"},
                    Golden{"contiguous(3,subarray([4,6],[1,6],[1,0],C,byte))", "+6 3x(+24) [6]"},
                    Golden{"subarray([6,5,4],[1,5,4],[2,0,0],Fortran,byte)", "+2 20x(+6) [1]"},
                    // A transpose keeps its order: columns outside.
                    Golden{"contiguous(4,resized(0,8,vector(3,1,4,double)))", "+0 4x(+8) 3x(+32) [8]"},
                    Golden{"struct([1,2,5],[0,8,24],[int,double,float])", "+0 list 2 of 40 bytes in all"},
                    Golden{"double_int", "+0 [12]"}, Golden{"contiguous(2,double_int)", "+0 2x(+16) [12]"},
                    Golden{"short_int", "+0 list 2 of 6 bytes in all"}, Golden{"contiguous(0,double)", "empty"},
                    Golden{"resized(-8,32,double)", "+0 [8]"},
                    Golden{"struct([1,1],[0,8],[vector(20,1,2,double),vector(20,1,2,double)])",
                           "+0 2x(+8) 20x(+16) [8]"},
                    Golden{"struct([1,1],[0,800],[vector(20,1,2,double),vector(30,1,2,double)])",
                           "+0 concat {+0: 20x(+16) [8]; +800: 30x(+16) [8]}"},
                    Golden{"darray(2,1,[5],[block],[default],[2],C,int)", "+12 [8]"},
                    Golden{"darray(2,0,[5],[cyclic],[2],[2],C,byte)", "+0 list 2 of 3 bytes in all"}));

TEST(Layout, FiveDescriptionsOfOneBoxAreOne) {
  const std::int64_t x = 100, y = 20, z = 30, row = 1024, plane = 1024 * 1024;
  const auto byte = basic("byte", 1);
  Ints offsets;
  for (std::int64_t k = 0; k < z; ++k)
    for (std::int64_t j = 0; j < y; ++j) offsets.push_back(k * plane + j * row);
  const auto n = offsets.size();
  const auto expected = layout_of(*hvector(z, 1, plane, vector(y, x, row, byte))).data;
  EXPECT_EQ(to_string(expected), "+0 30x(+1048576) 20x(+1024) [100]");
  for (const auto& other :
       {hvector(z, 1, plane, hvector(y, 1, row, vector(x, 1, 1, byte))), hindexed(Ints(n, x), offsets, byte),
        hindexed_block(x, offsets, byte), subarray({1024, 1024, 1024}, {z, y, x}, {0, 0, 0}, Order::c, byte)}) {
    const auto got = layout_of(*other).data;
    EXPECT_EQ(got.offset, expected.offset);
    EXPECT_TRUE(*got.node == *expected.node) << to_string(got);
  }
}

TEST(Layout, CommonLengthDividesEveryBlock) {
  EXPECT_EQ(common_length(*list({0, 100, 300}, {12, 8, 20}).node), 4);
  EXPECT_EQ(common_length(*list({0, 100, 300}, {8}).node), 8);
  EXPECT_EQ(common_length(*list({0, 100, 300}, {7, 14, 3}).node), 1);
}

TEST(Layout, BeyondFourGiB) {
  const auto layout = layout_of(*parse("hvector(3,1,5000000000,vector(2,1,600000000,double))"));
  EXPECT_EQ(to_string(layout.data), "+0 3x(+5000000000) 2x(+4800000000) [8]");
  EXPECT_EQ(layout.true_extent, 2 * 5000000000 + 4800000000 + 8);
  const auto large = layout_of(*parse("contiguous(6000000000,byte)"));
  EXPECT_EQ(large.size, 6000000000);
  EXPECT_TRUE(large.contiguous());
}

TEST(Layout, WhatDoesNotFitIsAnError) {
  EXPECT_THROW(parse("contiguous(4611686018427387904,double)"), SpecError);
  EXPECT_THROW(layout_of(*parse("hvector(3,1,9223372036854775807,byte)")), SpecError);
}

TEST(Layout, ContiguousMeansAnyCount) {
  EXPECT_TRUE(layout_of(*parse("contiguous(3,int)")).contiguous());
  EXPECT_FALSE(layout_of(*parse("resized(0,16,double)")).contiguous());
  EXPECT_FALSE(layout_of(*parse("hindexed([1],[8],double)")).contiguous());
  EXPECT_TRUE(layout_of(*parse("vector(0,1,2,double)")).contiguous());
}

TEST(Text, RoundTrip) {
  for (const char* text :
       {"vector(1024,1,1024,double)", "struct([1,2],[0,8],[int,dup(double)])",
        "darray(6,3,[8,9],[cyclic,block],[2,default],[2,3],Fortran,float)",
        "subarray([4],[2],[1],C,resized(-4,12,int))", "hindexed_block(2,[0,-9],hindexed([1,0],[3,4],byte))"})
    EXPECT_EQ(to_text(*parse(text)), text);
}

TEST(Text, ReadsMpisSpelling) {
  const std::pair<const char*, const char*> spelled[] = {
      {"MPI_Type_vector(4,1,2,MPI_DOUBLE)", "vector(4,1,2,double)"},
      {"MPI_Type_vector_c(4,1,2,MPI_C_LONG_DOUBLE_COMPLEX,&t);", "vector(4,1,2,long_double_complex)"},
      {"MPI_Type_create_resized_c(MPI_INTEGER2,0,64)", "resized(0,64,int16)"},
      {"call MPI_TYPE_VECTOR(4, 1, 2, MPI_COMPLEX16, column, ierr)", "vector(4,1,2,double_complex)"},
      {"call mpi_type_contiguous(3, MPI_WCHAR, three, ierror)", "contiguous(3,int)"},
      {"call MPI_Type_contiguous(3, MPI_REAL, three)", "contiguous(3,float)"},
      {"MPI_Type_contiguous(3, MPI_UNSIGNED_LONG_LONG, &three);", "contiguous(3,long)"},
      {"MPI_Type_create_hvector(4,1,-20,MPI_Type_dup(MPI_C_BOOL, &b), &h)", "hvector(4,1,-20,dup(bool))"},
      {"MPI_Type_indexed(2,{1,2},{0,4},MPI_REAL8)", "indexed([1,2],[0,4],double)"},
      {"MPI_Type_create_hindexed(2,[1,2],[0,4],MPI_2INT)", "hindexed([1,2],[0,4],2int)"},
      {"MPI_Type_create_indexed_block(2,3,{0,8},MPI_INT32_T,&t)", "indexed_block(3,[0,8],int32)"},
      {"MPI_Type_create_hindexed_block(0,3,{},MPI_BYTE)", "hindexed_block(3,[],byte)"},
      {"MPI_Type_create_struct(2,{1,2},{0,8},{MPI_INT,MPI_DOUBLE_INT})", "struct([1,2],[0,8],[int,double_int])"},
      {"MPI_Type_create_subarray(2,{4,6},{2,3},{1,0},MPI_ORDER_FORTRAN,MPI_FLOAT)",
       "subarray([4,6],[2,3],[1,0],Fortran,float)"},
      {"MPI_Type_create_darray(6,3,2,{8,9},{MPI_DISTRIBUTE_CYCLIC,MPI_DISTRIBUTE_BLOCK},"
       "{2,MPI_DISTRIBUTE_DFLT_DARG},{2,3},MPI_ORDER_C,MPI_FLOAT)",
       "darray(6,3,[8,9],[cyclic,block],[2,default],[2,3],C,float)"},
      {"MPI_Type_create_resized(MPI_Type_vector(2,1,3,MPI_INT),-4,64,&r)", "resized(-4,64,vector(2,1,3,int))"},
  };
  for (const auto& [mpi, ours] : spelled) EXPECT_EQ(to_text(*parse(mpi)), ours);
}

TEST(Text, ErrorsSayWhereAndWhat) {
  const auto message = [](const char* text) -> std::string {
    try {
      parse(text);
    } catch (const SpecError& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(message("vector(3,1,double)"),
            "datatype text, character 12: expected an integer that fits 64 bits, found 'double)'");
  EXPECT_NE(message("vectr(3,1,2,double)").find("character 1: expected dup, contiguous"), std::string::npos);
  EXPECT_NE(message("contiguous(2,doubel)").find("found 'doubel)'"), std::string::npos);
  EXPECT_NE(message("contiguous(-1,double)").find("negative"), std::string::npos);
  EXPECT_NE(message("int int").find("expected the end"), std::string::npos);
  EXPECT_NE(message("MPI_Type_indexed(3,{1,2},{0,4},MPI_INT)").find("count is 3, but the list has 2"),
            std::string::npos);
  EXPECT_NE(message("MPI_Type_create_resized(0,64,MPI_INT)").find("found '0,64,MPI_INT"), std::string::npos);
  EXPECT_NE(message("MPI_DOUBEL").find("expected a type"), std::string::npos);
}

}  // namespace
}  // namespace dunnage::type
