#include "plan/edge_way.hpp"

#include <gtest/gtest.h>

namespace {

using namespace dunnage::plan;

TEST(EdgeWay, LongDataInOnePieceAreMessages) {
  constexpr struct {
    bool contiguous;
    std::int64_t bytes;
    EdgeWay way;
  } expected[] = {
      {true, 0, EdgeWay::ring},
      {true, edge_message - 1, EdgeWay::ring},
      {true, edge_message, EdgeWay::message},
      {true, 0x7fffffff, EdgeWay::message},
      {true, 0x80000000, EdgeWay::ring},
      {false, 8, EdgeWay::ring},
      {false, edge_message, EdgeWay::ring},
      {false, std::int64_t{1} << 40, EdgeWay::ring},
  };
  for (const auto& one : expected)
    EXPECT_EQ(edge_way(one.contiguous, one.bytes), one.way) << one.contiguous << " " << one.bytes;
}

}  // namespace
