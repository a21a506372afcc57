// The kernels that move data from one nest to another, on the host: random pairs of nests against
// the brute-force typemap.
#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "../../support/random_nest.hpp"
#include "type/text.hpp"

namespace dunnage::pack::cuda {
namespace {

TEST(Moves, RandomNestsAgainstTheTypemap) {
  const auto seconds = tests::test_option("DUNNAGE_TEST_SECONDS", 5);
  auto seed = static_cast<std::uint64_t>(tests::test_option(
      "DUNNAGE_TEST_SEED", std::chrono::system_clock::now().time_since_epoch().count() % 1000000000));
  std::cout << "first seed " << seed << " (repeat with DUNNAGE_TEST_SEED)\n";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  tests::EmulatedDevice device;
  long moved = 0, left = 0;
  for (; std::chrono::steady_clock::now() < until; ++seed) {
    tests::RandomSpec random(seed);
    const std::int64_t unit = std::int64_t{1} << random.between(1, 4);
    const auto size = unit * random.between(1, 60) * random.between(1, 12);
    const auto from_spec = type::parse(tests::random_nest(random, size, unit)),
               to_spec = type::parse(tests::random_nest(random, size, unit));
    ASSERT_EQ(from_spec->size, size);
    ASSERT_EQ(to_spec->size, size);
    if (tests::overlaps(*to_spec, 1)) continue;
    const auto from_layout = type::layout_of(*from_spec), to_layout = type::layout_of(*to_spec);
    const Recipe from_recipe(from_layout, 1), to_recipe(to_layout, 1);
    const auto misaligned = random.between(0, 3) == 0 ? random.between(0, 15) : 0;
    tests::Buffer from(from_layout, 1, 0, misaligned), want(to_layout, 1, 0xC3, misaligned),
        got(to_layout, 1, 0xC3, misaligned);
    from.number();
    std::vector<unsigned char> packed(static_cast<std::size_t>(size));
    type::typemap_pack(*from_spec, 1, from.base(), packed.data());
    type::typemap_unpack(*to_spec, 1, packed.data(), want.base());
    const auto step = random.between(0, 1) ? size : 16 * random.between(1, 20);
    bool all = true;
    for (std::int64_t begin = 0; begin < size && all; begin += step) {
      auto launch = plan_move(from_recipe, reinterpret_cast<std::uintptr_t>(from.base()), to_recipe,
                              reinterpret_cast<std::uintptr_t>(got.base()), begin, std::min(size, begin + step));
      all = launch.has_value();
      if (all) {
        ASSERT_TRUE(device.run(std::move(*launch))) << device.names.back();
      }
    }
    ++(all ? moved : left);
    if (all) {
      ASSERT_EQ(want.bytes, got.bytes) << "seed " << seed << ": " << type::to_text(*from_spec) << " to "
                                       << type::to_text(*to_spec);
    }
  }
  std::cout << moved << " moved, " << left << " left to packing\n";
  if (seconds) {
    EXPECT_GT(moved, 100);
  }
}

// Shapes that reach every kernel; ranges of nests beyond 2^32 words, of which all passes go over
// the same memory.
TEST(Moves, EveryKernel) {
  tests::EmulatedDevice device;
  for (const std::int64_t word : {4, 8, 16})
    for (const int loops : {1, 2, 3, 4, 64}) {
      const auto block = "contiguous(" + std::to_string(word * (loops == 1 ? 1 : loops == 64 ? 8 : 3)) + ",byte)";
      const auto nest = [&](std::int64_t gap) {
        const auto stride = word * gap * (loops == 64 ? 3 : 1);
        auto text = "hvector(10,1," + std::to_string(stride) + "," + block + ")";
        for (int l = 2; l < std::min(loops, 4); ++l)
          text = "hvector(5,1," + std::to_string(stride * 12 * (l == 2 ? 1 : 7)) + "," + text + ")";
        return loops == 64 ? "hvector(3000000000,1,0," + text + ")" : text;
      };
      const auto a = type::parse(nest(4)), b = type::parse(nest(5));
      const auto a_layout = type::layout_of(*a), b_layout = type::layout_of(*b);
      const Recipe a_recipe(a_layout, 1), b_recipe(b_layout, 1);
      tests::Buffer from(a_layout, 1, 0), want(b_layout, 1, 0xC3), got(b_layout, 1, 0xC3);
      from.number();
      const auto& once_a = loops == 64 ? *a->types[0] : *a;
      const auto& once_b = loops == 64 ? *b->types[0] : *b;
      std::vector<unsigned char> packed(static_cast<std::size_t>(once_a.size));
      type::typemap_pack(once_a, 1, from.base(), packed.data());
      type::typemap_unpack(once_b, 1, packed.data(), want.base());
      const auto begin = loops == 64 ? once_a.size * 1600000000 : 0;
      const auto end = loops == 64 ? begin + 16 * once_a.size : a->size;
      auto launch = plan_move(a_recipe, reinterpret_cast<std::uintptr_t>(from.base()), b_recipe,
                              reinterpret_cast<std::uintptr_t>(got.base()), begin, end);
      ASSERT_TRUE(launch.has_value());
      EXPECT_EQ(launch->id.loops, loops > 3 ? 0 : loops);
      EXPECT_EQ(launch->id.wide, loops == 64);
      EXPECT_EQ(launch->id.word, word);
      ASSERT_TRUE(device.run(std::move(*launch))) << device.names.back();
      EXPECT_EQ(want.bytes, got.bytes) << device.names.back();
    }
}

// The receiver's buffer may be much larger than the message.
TEST(Moves, LoopsThatAreLongerThanTheMessage) {
  tests::EmulatedDevice device;
  const auto a = type::parse("vector(500,1,2,double)"),
             b = type::parse("hvector(3,1,0,hvector(5368709120,1,0,contiguous(1,double)))");
  const auto a_layout = type::layout_of(*a), b_layout = type::layout_of(*b);
  const Recipe a_recipe(a_layout, 1), b_recipe(b_layout, 1);
  tests::Buffer from(a_layout, 1, 0), got(b_layout, 1, 0xC3);
  from.number();
  auto launch = plan_move(a_recipe, reinterpret_cast<std::uintptr_t>(from.base()), b_recipe,
                          reinterpret_cast<std::uintptr_t>(got.base()), 0, a->size);
  ASSERT_TRUE(launch.has_value());
  EXPECT_TRUE(launch->id.wide);
}

TEST(Moves, LeavesTheOthersToPacking) {
  const auto planned = [](const char* from, const char* to, std::uintptr_t address) {
    const Recipe a(type::layout_of(*type::parse(from)), 1), b(type::layout_of(*type::parse(to)), 1);
    return plan_move(a, address, b, std::uintptr_t{1} << 40, 0, a.size()).has_value();
  };
  EXPECT_TRUE(planned("vector(100,1,2,double)", "vector(50,2,3,double)", 4096));
  EXPECT_TRUE(planned("vector(100,1,2,double)", "contiguous(100,double)", 4096));
  EXPECT_FALSE(planned("vector(100,1,2,double)", "vector(50,2,3,double)", 4097));                     // odd addresses
  EXPECT_FALSE(planned("vector(100,1,2,short)", "vector(50,2,3,short)", 4096));                       // short words
  EXPECT_FALSE(planned("hvector(20,1,8,hvector(20,1,160,double))", "vector(400,1,2,double)", 4096));  // a transpose
  EXPECT_FALSE(planned("hindexed([3,1,4],[0,80,120],double)", "vector(8,1,2,double)", 4096));         // a list
}

}  // namespace
}  // namespace dunnage::pack::cuda
