// Stores past the caches: nests of loops against the brute-force typemap. The buffers lie between
// pages that nobody may touch, so a read or a write outside a buffer ends the test.
#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "../support/buffer.hpp"
#include "../support/fenced.hpp"
#include "../support/random_spec.hpp"
#include "base/cache.hpp"
#include "pack/cpu/program.hpp"
#include "type/text.hpp"
#include "type/typemap.hpp"

namespace dunnage::pack {
namespace {

/// The instruction set to test: DUNNAGE_TEST_SIMD. It can be chosen once in a process.
const bool limited = [] {
  const char* name = std::getenv("DUNNAGE_TEST_SIMD");
  return !name || limit_simd(name);
}();

using tests::Fenced;
using tests::RandomSpec;
constexpr unsigned char poison = 0xA5;

/// Packs and unpacks bytes [begin, end) of a type. Every buffer ends `shift` bytes before its
/// fence, or begins so many bytes behind its first fence.
void check(const type::Spec& spec, std::int64_t count, std::int64_t begin, std::int64_t end, std::int64_t shift,
           bool at_end) {
  const auto layout = type::layout_of(spec);
  const Program program(layout, count);
  const auto& data = program.data();
  const auto low = data.offset + data.node->low;
  const auto n = end - begin;
  Fenced user(program.span(), shift, at_end), packed(n, shift, at_end);
  user.number();
  std::vector<unsigned char> expected(static_cast<std::size_t>(program.size()));
  type::typemap_pack(spec, count, user.data() - low, expected.data());

  packed.fill(poison);
  program.pack(user.data() - low, packed.data(), begin, end, Stores::streamed);
  ASSERT_TRUE(std::equal(packed.data(), packed.data() + n, expected.data() + begin)) << "pack";
  ASSERT_TRUE(packed.margins_are(poison)) << "pack wrote outside";

  // The part of the type that is unpacked comes from `packed`, the rest stays as it is.
  user.fill(poison);
  program.unpack(packed.data(), user.data() - low, begin, end, Stores::streamed);
  std::vector<unsigned char> want(user.all().begin(), user.all().end());
  user.fill(poison);
  std::vector<unsigned char> stream(expected.size(), poison);
  std::copy(expected.begin() + begin, expected.begin() + end, stream.begin() + begin);
  type::typemap_unpack(spec, count, stream.data(), user.data() - low);
  ASSERT_TRUE(std::equal(want.begin(), want.end(), user.all().begin())) << "unpack";
}

/// Returns a random nest of one to three loops. Its blocks fill lines in every way there is.
type::SpecPtr random_nest(RandomSpec& random) {
  constexpr std::int64_t blocks[] = {1,  4,  4,   8,   8,   8,   12,  16,  16,  32,   48,   64,   64,
                                     64, 96, 100, 128, 192, 256, 320, 500, 512, 1024, 2000, 4096, 8200};
  const auto block = blocks[random.between(0, std::size(blocks) - 1)];
  auto spec = type::contiguous(block, type::basic("byte", 1));
  auto budget = std::max<std::int64_t>(60000 / block, 2);
  const auto loops = random.between(1, 3);
  for (std::int64_t i = 0; i < loops; ++i) {
    const auto n = random.between(1, i + 1 == loops ? budget : std::min<std::int64_t>(budget, 40));
    budget = std::max<std::int64_t>(budget / n, 1);
    // Gaps: none, as long as the data, whole lines, or any.
    const std::int64_t gaps[] = {0, spec->extent, 64 * random.between(1, 4), 16 * random.between(1, 9),
                                 random.between(1, 300)};
    const auto stride = spec->extent + gaps[random.between(0, 4)];
    spec = type::hvector(n, 1, random.between(0, 7) ? stride : -stride, spec);
  }
  return spec;
}

TEST(Streams, AgainstTheTypemap) {
  ASSERT_TRUE(limited);
  const auto seconds = tests::test_option("DUNNAGE_TEST_SECONDS", 2);
  auto seed = static_cast<std::uint64_t>(tests::test_option(
      "DUNNAGE_TEST_SEED", std::chrono::system_clock::now().time_since_epoch().count() % 1000000000));
  std::cout << kernels().target << ", first seed " << seed << " (repeat with DUNNAGE_TEST_SEED)\n";
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long types = 0;
  for (; std::chrono::steady_clock::now() < stop; ++seed, ++types) {
    RandomSpec random(seed);
    auto spec = random_nest(random);
    // Sometimes two nests one behind the other, or a nest at irregular places.
    const auto shape = random.between(0, 5);
    if (shape == 0) {
      const auto second = random_nest(random);
      const auto a = type::layout_of(*spec).data, b = type::layout_of(*second).data;
      const auto behind = a.offset + a.node->high - b.offset - b.node->low;
      spec = type::structure({1, 1}, {0, behind + random.between(0, 99)}, {spec, second});
    }
    if (shape == 1) spec = type::hindexed_block(1, {0, spec->extent, 2 * spec->extent + 48}, spec);
    const auto count = random.between(1, 2);
    const auto size = spec->size * count;
    const auto begin = random.between(0, 1) ? 0 : random.between(0, size - 1);
    const auto end = random.between(0, 1) ? size : random.between(begin + 1, size);
    constexpr std::int64_t shifts[] = {0, 0, 0, 1, 4, 8, 16, 32, 48, 63};
    check(*spec, count, begin, end, shifts[random.between(0, 9)], random.between(0, 1));
    if (testing::Test::HasFatalFailure())
      FAIL() << "seed " << seed << ", count " << count << ", [" << begin << ", " << end
             << "): " << type::to_text(*spec);
  }
  std::cout << types << " types\n";
  EXPECT_GT(types, 10);
}

TEST(Streams, ReadsNoGapBehindTheLastElement) {
  for (const auto* element : {"float", "double"})
    for (std::int64_t n = 1; n <= 100; ++n) {
      const auto spec = type::vector(n, 1, 2, type::parse(element));
      check(*spec, 1, 0, spec->size, 0, true);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << type::to_text(*spec);
    }
}

// Data that do not fit in the second-level cache, so that the user's memory is prefetched.
class Large : public testing::TestWithParam<const char*> {};

TEST_P(Large, AgainstTheTypemap) {
  const auto spec = type::parse(GetParam());
  const Program one(type::layout_of(*spec), 1);
  const auto count = base::second_level_cache() / one.size() + 1;
  const auto size = count * spec->size;
  check(*spec, count, 0, size, 16, true);
  check(*spec, count, spec->size / 2 + 1, size - 3, 4, false);
}

INSTANTIATE_TEST_SUITE_P(Table, Large,
                         testing::Values("resized(0,65536,vector(4096,1,2,double))",  // every other element
                                         "resized(0,32772,vector(4096,1,2,float))",   //
                                         "resized(0,65536,vector(512,8,16,double))",  // lines
                                         "resized(0,65536,hvector(4,1,16384,vector(4,8,16,double)))",  // short loops
                                         "resized(0,65536,vector(8,512,1024,double))",       // blocks of pages
                                         "resized(0,131072,vector(1024,2,4,double))",        // blocks of 16 bytes
                                         "resized(0,131072,vector(64,1,256,double))",        // a line for each element
                                         "resized(0,1200000,vector(3,40000,50000,double))",  // long blocks
                                         "struct([1,2,5],[0,8,24],[int,double,float])"));    // gathered first

}  // namespace
}  // namespace dunnage::pack
