// Random types, counts and alignments: the engine against the brute-force typemap, whole and cut
// anywhere.
#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "../support/check_program.hpp"
#include "../support/random_spec.hpp"
#include "type/text.hpp"

namespace dunnage::pack {
namespace {

void check(const type::Spec& spec, std::int64_t count, tests::RandomSpec& random) {
  const auto wrong = tests::check_program(spec, count, [&](auto low, auto high) { return random.between(low, high); });
  ASSERT_EQ(wrong.value_or("nothing"), "nothing");
}

TEST(Random, AgainstTheTypemap) {
  const auto seconds = tests::test_option("DUNNAGE_TEST_SECONDS", 8);
  auto seed = static_cast<std::uint64_t>(tests::test_option(
      "DUNNAGE_TEST_SEED", std::chrono::system_clock::now().time_since_epoch().count() % 1000000000));
  std::cout << "first seed " << seed << " (repeat with DUNNAGE_TEST_SEED)\n";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long types = 0;
  for (; std::chrono::steady_clock::now() < end; ++seed, ++types) {
    tests::RandomSpec random(seed);
    const auto spec = random(static_cast<int>(random.between(0, 5)));
    const auto count = random.between(0, 3);
    if (spec->size * count > 1 << 18) continue;
    check(*spec, count, random);
    if (testing::Test::HasFatalFailure()) {
      FAIL() << "seed " << seed << ", count " << count << ": " << type::to_text(*spec) << "\n"
             << type::to_string(type::layout_of(*spec).data);
    }
  }
  std::cout << types << " types\n";
  EXPECT_GT(types, 100);
}

// Types with a story: seeds that failed once, TEMPI's wrong answers, and shapes that reach every
// kernel.
class Chosen : public testing::TestWithParam<std::pair<const char*, std::int64_t>> {};

TEST_P(Chosen, AgainstTheTypemap) {
  const auto& [text, count] = GetParam();
  tests::RandomSpec random(1);
  const auto spec = type::parse(text);
  for (int i = 0; i < 4; ++i) check(*spec, count, random);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Chosen,
    testing::Values(
        std::pair{"subarray([16,17,18],[16,17,1],[0,0,3],C,double)", 1},  // width-1 face, non-zero offset
        std::pair{"subarray([16,17,18],[16,1,1],[0,5,3],C,double)", 1},   // an edge
        std::pair{"resized(0,8,vector(100,1,100,double))", 100},          // transposes, of each element size
        std::pair{"resized(0,4,vector(67,1,67,float))", 61}, std::pair{"resized(0,4,vector(64,1,64,float))", 64},
        std::pair{"resized(0,8,vector(64,1,64,double))", 64},
        std::pair{"resized(0,16,vector(40,1,40,long_double))", 40}, std::pair{"resized(0,1,vector(70,1,70,byte))", 70},
        std::pair{"resized(0,2,vector(70,1,70,short))", 70},
        std::pair{"resized(0,16,vector(40,1,80,double))", 40},  // every other column
        std::pair{"subarray([8,32],[1,32],[2,0],C,int)", 5},    // count > 1 of a full row
        std::pair{"double_int", 100}, std::pair{"short_int", 100}, std::pair{"vector(1000,1,2,double)", 1},
        std::pair{"vector(1001,1,2,float)", 2}, std::pair{"vector(1000,1,2,short)", 1},
        std::pair{"vector(1000,1,-2,double)", 1}, std::pair{"vector(300,3,40,double)", 2},
        std::pair{"vector(40,700,1000,double)", 1}, std::pair{"vector(3,5000,6000,double)", 2},
        std::pair{"struct([1,2,5],[0,8,24],[int,double,float])", 500},
        std::pair{"contiguous(300,hindexed([1,3,2],[0,20,4],short))", 3},
        std::pair{"hvector(5,1,9000,hvector(5,1,1500,hvector(5,1,250,hvector(5,1,40,hvector(3,1,7,byte)))))", 2},
        std::pair{"vector(3,2,-1,byte)", 2}));

}  // namespace
}  // namespace dunnage::pack
