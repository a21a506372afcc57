#include "pack/cpu/store_choice.hpp"

#include <gtest/gtest.h>

namespace dunnage::pack {
namespace {

/// How many of `pieces` are streamed where cached pieces cost `cached` and streamed ones
/// `streamed`.
int streamed_of(int pieces, double cached, double streamed) {
  StoreChoice choice;
  int n = 0;
  for (int i = 0; i < pieces; ++i) {
    const bool s = choice.next();
    n += s;
    choice.learn(s, s ? streamed : cached);
  }
  return n;
}

TEST(StoreChoice, TriesBothAndGoesOnWithTheFaster) {
  EXPECT_EQ(streamed_of(64, 1.0, 0.5), 64 - 2);
  EXPECT_EQ(streamed_of(64, 1.0, 2.0), 2);
}

TEST(StoreChoice, AGainOfNothingIsNone) { EXPECT_EQ(streamed_of(64, 1.0, 0.99), 2); }

TEST(StoreChoice, AsksAgain) { EXPECT_EQ(streamed_of(1000, 1.0, 2.0), 2 + 999 / 64); }

TEST(StoreChoice, FollowsAChange) {
  StoreChoice choice;
  int late = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool s = choice.next();
    choice.learn(s, s ? 1.0 : (i < 1000 ? 0.5 : 4.0));
    late += i >= 1500 && s;
  }
  EXPECT_GT(late, 450);
}

}  // namespace
}  // namespace dunnage::pack
