// The kernels' index arithmetic, on the host: random types against the brute-force typemap, and
// shapes that reach every kernel.
#include <chrono>
#include <deque>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "../../support/random_spec.hpp"
#include "type/text.hpp"

namespace dunnage::pack::cuda {
namespace {

TEST(Divisor, EveryQuotient) {
  tests::RandomSpec random(1);
  const auto check = [](auto n, auto d) {
    using Index = decltype(n);
    ASSERT_EQ(Divisor<Index>(d).quotient(n), n / d) << n << " / " << d;
  };
  for (std::uint32_t d = 1; d < 3000; ++d)
    for (const std::uint32_t n :
         {0u, 1u, d - 1, d, d + 1, 7 * d - 1, 7 * d, 0x7fffffffu / d * d, 0x7fffffffu / d * d - 1, 0x7fffffffu})
      check(n, d);
  for (int i = 0; i < 100000; ++i) {
    const auto d32 = static_cast<std::uint32_t>(random.between(1, 1 << random.between(1, 30)));
    check(static_cast<std::uint32_t>(random.between(0, 0x7fffffff)), d32);
    const auto d64 = static_cast<std::uint64_t>(random.between(1, std::int64_t{1} << random.between(1, 62)));
    const auto top = std::numeric_limits<std::int64_t>::max();
    check(static_cast<std::uint64_t>(random.between(0, top)), d64);
    check(static_cast<std::uint64_t>(top) / d64 * d64 - 1, d64);
  }
}

TEST(KernelId, CodesAndNamesAreDifferent) {
  // Every kernel that moves or reduces can be named, and no two share a code. Streams start the
  // others by name.
  std::set<std::string> names;
  for (const auto& kernel : emulated_kernels()) EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
  for (const char* name :
       {"signal", "exchange_n8", "stamped", "moves_tell_n8", "moves_tell_n32", "moves_tell_n64", "moves_tell_n128"})
    EXPECT_EQ(names.erase(name), 1u) << name;
  std::set<std::uint32_t> codes;
  std::size_t found = 0;
  using Family = KernelId::Family;
  for (const auto family :
       {Family::dense, Family::rows, Family::tile, Family::parts, Family::tree, Family::fused, Family::move})
    for (const auto direction : {Direction::pack, Direction::unpack})
      for (const int word : {0, 1, 2, 4, 8, 16})
        for (const int group : {0, 1, 2, 3, 4, 5, 6, 7})
          for (const int loops : {0, 1, 2, 3})
            for (const bool table : {false, true})
              for (const bool wide : {false, true})
                for (const int thread_words : {0, 1, 4}) {
                  const bool has_word = family == Family::dense || family == Family::tile || family == Family::parts ||
                                        family == Family::move;
                  const bool has_group = family != Family::parts && family != Family::tree;
                  const bool has_loops = family == Family::dense || family == Family::rows || family == Family::move;
                  if (family == Family::move && (direction == Direction::unpack || table)) continue;
                  // Several messages in one launch.
                  if (family == Family::move && group && (group < 3 || word || loops || wide)) continue;
                  if ((family == Family::fused || (family == Family::move && group)) != (thread_words > 0)) continue;
                  if ((!has_word && word) || (!has_group && group) || (!has_loops && (loops || table || wide)))
                    continue;
                  const KernelId id{family,
                                    direction,
                                    static_cast<std::uint8_t>(word),
                                    static_cast<std::uint8_t>(group),
                                    static_cast<std::uint8_t>(loops),
                                    table,
                                    wide,
                                    static_cast<std::uint8_t>(thread_words)};
                  if (!names.contains(name_of(id))) continue;
                  ++found;
                  EXPECT_TRUE(codes.insert(id.code()).second) << name_of(id);
                  EXPECT_LT(id.code(), KernelId::codes);
                }
  for (int element = 0; element < element_kinds; ++element) {
    const KernelId id{Family::reduce, Direction::pack, static_cast<std::uint8_t>(element)};
    EXPECT_TRUE(names.contains(name_of(id))) << name_of(id);
    ++found;
    EXPECT_TRUE(codes.insert(id.code()).second) << name_of(id);
    EXPECT_LT(id.code(), KernelId::codes);
  }
  EXPECT_EQ(found, names.size());
}

TEST(Kernels, RandomTypesAgainstTheTypemap) {
  const auto seconds = tests::test_option("DUNNAGE_TEST_SECONDS", 8);
  auto seed = static_cast<std::uint64_t>(tests::test_option(
      "DUNNAGE_TEST_SEED", std::chrono::system_clock::now().time_since_epoch().count() % 1000000000));
  std::cout << "first seed " << seed << " (repeat with DUNNAGE_TEST_SEED)\n";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  tests::EmulatedDevice device;
  long types = 0;
  for (; std::chrono::steady_clock::now() < end; ++seed, ++types) {
    tests::RandomSpec random(seed);
    const auto spec = random(static_cast<int>(random.between(0, 5)));
    const auto count = random.between(0, 3);
    if (spec->size * count > 1 << 14) continue;
    const auto wrong =
        tests::check_kernels(device, *spec, count, [&](auto low, auto high) { return random.between(low, high); });
    ASSERT_EQ(wrong.value_or("nothing"), "nothing")
        << "seed " << seed << ", count " << count << ": " << type::to_text(*spec) << "\n"
        << type::to_string(type::layout_of(*spec).data);
  }
  std::cout << types << " types\n";
  if (seconds) {
    EXPECT_GT(types, 100);
  }
}

// Types with a story, and shapes that reach every kernel.
class Chosen : public testing::TestWithParam<std::pair<const char*, std::int64_t>> {};

TEST_P(Chosen, AgainstTheTypemap) {
  const auto& [text, count] = GetParam();
  tests::RandomSpec random(1);
  const auto spec = type::parse(text);
  tests::EmulatedDevice device;
  for (int i = 0; i < 20; ++i) {
    const auto wrong =
        tests::check_kernels(device, *spec, count, [&](auto low, auto high) { return random.between(low, high); });
    ASSERT_EQ(wrong.value_or("nothing"), "nothing") << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, Chosen,
    testing::Values(
        std::pair{"subarray([16,17,18],[16,17,1],[0,0,3],C,double)", 1},  // width-1 face, non-zero offset
        std::pair{"subarray([16,17,18],[16,1,1],[0,5,3],C,double)", 1},   // an edge
        std::pair{"subarray([20,30,300],[7,9,257],[3,5,7],C,byte)", 1},   // long rows of odd addresses
        std::pair{"subarray([20,30,300],[7,9,257],[3,5,7],C,short)", 1},
        std::pair{"subarray([6,5,4,3,20],[5,4,3,2,17],[1,1,1,1,2],C,short)", 2},
        std::pair{"resized(0,8,vector(100,1,100,double))", 100},  // transposes, of each element size
        std::pair{"resized(0,4,vector(67,1,67,float))", 61}, std::pair{"resized(0,4,vector(128,1,128,float))", 128},
        std::pair{"resized(0,8,vector(64,1,64,double))", 64},
        std::pair{"resized(0,16,vector(40,1,40,long_double))", 40},
        std::pair{"resized(0,1,vector(140,1,140,byte))", 137}, std::pair{"resized(0,1,vector(141,1,140,byte))", 140},
        std::pair{"resized(0,2,vector(70,1,70,short))", 70}, std::pair{"resized(0,2,vector(71,1,71,short))", 69},
        std::pair{"resized(0,3,vector(50,3,150,byte))", 50}, std::pair{"resized(0,12,vector(50,3,150,int))", 50},
        std::pair{"resized(0,24,vector(40,3,120,double))", 40},
        std::pair{"resized(0,16,vector(40,1,80,double))", 40},  // every other column
        std::pair{"resized(3,8,hvector(50,1,-400,double))", 50}, std::pair{"vector(1000,1,2,double)", 1},
        std::pair{"vector(1001,1,2,float)", 2}, std::pair{"vector(1000,1,2,short)", 1},
        std::pair{"vector(1000,1,-2,double)", 1}, std::pair{"vector(999,3,4,byte)", 1},
        std::pair{"vector(300,3,40,double)", 2}, std::pair{"vector(40,700,1000,double)", 1},
        std::pair{"vector(40,300,333,byte)", 2}, std::pair{"contiguous(1000,byte)", 3},
        std::pair{"struct([1,2,5],[0,8,24],[int,double,float])", 500},
        std::pair{"struct([1,1,1],[0,4,16],[int,byte,double])", 300},
        std::pair{"contiguous(300,hindexed([1,3,2],[0,20,4],short))", 3},
        std::pair{"hindexed([1,30,2,500],[0,20,400,1001],byte)", 3},
        std::pair{"hindexed_block(2,[0,24,40,100,180],double)", 7},
        std::pair{"hindexed_block(300,[7,1000,1400,3001],byte)", 3},
        std::pair{"struct([1,1,1],[0,20000,40000],[vector(100,1,2,double),vector(60,3,7,int),contiguous(500,short)])",
                  3},
        std::pair{"struct([1,1],[0,8],[vector(100,1,2,double),vector(100,1,2,double)])", 40},
        std::pair{"hvector(5,1,9000,hvector(5,1,1500,hvector(5,1,250,hvector(5,1,40,hvector(3,1,7,byte)))))", 2},
        std::pair{"hindexed_block(1,[0,200,530],hvector(20,1,2,byte))", 1},
        std::pair{"hindexed_block(1,[0,200,530],hvector(20,1,4,short))", 1},
        std::pair{"hindexed_block(1,[0,400,1000],hvector(20,1,8,int))", 1},
        std::pair{"hindexed_block(1,[0,800,2000],hvector(20,1,16,double))", 1},
        // Each word and each number of loops, with rows that have sectors of their own.
        std::pair{"hvector(3,1,6400,hvector(4,1,640,hvector(5,1,33,byte)))", 1},
        std::pair{"hvector(2,1,32000,hvector(3,1,6400,hvector(4,1,640,hvector(5,1,33,byte))))", 1},
        std::pair{"hvector(7,1,33,byte)", 1}, std::pair{"hvector(5,1,640,hvector(7,1,33,byte))", 1},
        std::pair{"hvector(3,1,6400,hvector(4,1,640,hvector(5,1,34,short)))", 1},
        std::pair{"hvector(2,1,32000,hvector(3,1,6400,hvector(4,1,640,hvector(5,1,34,short))))", 1},
        std::pair{"hvector(7,1,34,short)", 1}, std::pair{"hvector(5,1,640,hvector(7,1,34,short))", 1},
        std::pair{"hvector(3,1,6400,hvector(4,1,640,hvector(5,1,36,int)))", 1},
        std::pair{"hvector(2,1,32000,hvector(3,1,6400,hvector(4,1,640,hvector(5,1,36,int))))", 1},
        std::pair{"hvector(7,1,36,int)", 1}, std::pair{"hvector(5,1,640,hvector(7,1,36,int))", 1},
        std::pair{"hvector(3,1,6400,hvector(4,1,640,hvector(5,1,40,double)))", 1},
        std::pair{"hvector(2,1,32000,hvector(3,1,6400,hvector(4,1,640,hvector(5,1,40,double))))", 1},
        std::pair{"hvector(7,1,40,double)", 1}, std::pair{"hvector(5,1,640,hvector(7,1,40,double))", 1},
        std::pair{"hvector(3,1,6400,hvector(4,1,640,hvector(5,1,48,long_double)))", 1},
        std::pair{"hvector(2,1,32000,hvector(3,1,6400,hvector(4,1,640,hvector(5,1,48,long_double))))", 1},
        std::pair{"hvector(7,1,48,long_double)", 1}, std::pair{"hvector(5,1,640,hvector(7,1,48,long_double))", 1},
        // Rows of odd addresses, of whole chunks and not.
        std::pair{"hvector(5,1,310,contiguous(304,byte))", 1},
        std::pair{"hvector(3,1,4003,hvector(5,1,310,contiguous(304,byte)))", 1},
        std::pair{"hvector(2,1,90001,hvector(3,1,4003,hvector(5,1,310,contiguous(304,byte))))", 1},
        std::pair{"hindexed_block(304,[1,403,1001,1500],byte)", 1},
        std::pair{"hvector(5,1,307,contiguous(301,byte))", 1},
        std::pair{"hvector(3,1,4003,hvector(5,1,307,contiguous(301,byte)))", 1},
        std::pair{"hvector(2,1,90001,hvector(3,1,4003,hvector(5,1,307,contiguous(301,byte))))", 1},
        std::pair{"hindexed_block(301,[1,403,1001,1500],byte)", 1},
        // Blocks that are cut into equal pieces.
        std::pair{"hindexed([1,2,1],[0,64,160],byte)", 1}, std::pair{"hindexed([1,2,1],[0,64,160],short)", 1},
        std::pair{"hindexed([1,2,1],[0,64,160],int)", 1}, std::pair{"hindexed([1,2,1],[0,64,160],double)", 1},
        std::pair{"hindexed([1,2,1],[0,64,160],long_double)", 1},
        // Tables of each word.
        std::pair{"hindexed_block(1,[0,64,160,304],byte)", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(1,[0,64,160,304],byte))", 1},
        std::pair{"hvector(2,1,9216,hvector(3,1,1024,hindexed_block(1,[0,64,160,304],byte)))", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(3,[0,64,160,304],byte))", 1},
        std::pair{"hindexed_block(1,[0,64,160,304],short)", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(1,[0,64,160,304],short))", 1},
        std::pair{"hvector(2,1,9216,hvector(3,1,1024,hindexed_block(1,[0,64,160,304],short)))", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(3,[0,64,160,304],short))", 1},
        std::pair{"hindexed_block(1,[0,64,160,304],int)", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(1,[0,64,160,304],int))", 1},
        std::pair{"hvector(2,1,9216,hvector(3,1,1024,hindexed_block(1,[0,64,160,304],int)))", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(3,[0,64,160,304],int))", 1},
        std::pair{"hindexed_block(1,[0,64,160,304],double)", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(1,[0,64,160,304],double))", 1},
        std::pair{"hvector(2,1,9216,hvector(3,1,1024,hindexed_block(1,[0,64,160,304],double)))", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(3,[0,64,160,304],double))", 1},
        std::pair{"hindexed_block(1,[0,64,160,304],long_double)", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(1,[0,64,160,304],long_double))", 1},
        std::pair{"hvector(2,1,9216,hvector(3,1,1024,hindexed_block(1,[0,64,160,304],long_double)))", 1},
        std::pair{"hvector(2,1,4096,hindexed_block(3,[0,64,160,304],long_double))", 1},
        std::pair{"vector(99,1,2,byte)", 1}, std::pair{"vector(99,1,2,int)", 1},
        std::pair{"hvector(2,1,90000,hvector(3,1,20000,hvector(4,1,1001,contiguous(300,byte))))", 1},
        std::pair{
            "struct([1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],[0,4096,8192,12288,16384,20480,24576,28672,32768,36864,"
            "40960,45056,49152,53248,57344,61440,65536,69632,73728,77824],[vector(20,1,2,double),vector(21,1,2,double),"
            "vector(22,1,2,double),vector(23,1,2,double),vector(24,1,2,double),vector(25,1,2,double),vector(26,1,2,"
            "double),vector(27,1,2,double),vector(28,1,2,double),vector(29,1,2,double),vector(30,1,2,double),vector(31,"
            "1,2,double),vector(32,1,2,double),vector(33,1,2,double),vector(34,1,2,double),vector(35,1,2,double),"
            "vector(36,1,2,double),vector(37,1,2,double),vector(38,1,2,double),vector(39,1,2,double)])",
            1},
        std::pair{"struct([1,1],[0,1000],[vector(50,1,2,double),vector(30,1,3,int)])", 40},
        std::pair{"struct([1,1],[0,1000],[vector(50,1,2,double),vector(30,1,3,int)])", 20},
        std::pair{"vector(3,2,-1,byte)", 2}));

// One launch for many buffers, of types of their own.
TEST(Kernels, ManyBuffersAtOnce) {
  tests::EmulatedDevice device;
  std::size_t all = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    tests::RandomSpec random(seed);
    struct Entry {
      std::shared_ptr<const type::Spec> spec;
      std::int64_t count;
      std::unique_ptr<Recipe> recipe;
      tests::Buffer user, want, got;
      std::vector<unsigned char> expected, packed;
      std::vector<std::int64_t> constants;
    };
    std::vector<Entry> entries;
    for (auto i = random.between(1, 40); i > 0; --i) {
      auto spec = random(static_cast<int>(random.between(0, 3)));
      const auto count = random.between(0, 3);
      if (spec->size * count > 1 << 12 || tests::overlaps(*spec, count)) continue;
      const auto layout = type::layout_of(*spec);
      const auto shift = random.between(0, 15);
      Entry e{spec,
              count,
              std::make_unique<Recipe>(layout, count),
              tests::Buffer(layout, count, 0, shift),
              tests::Buffer(layout, count, 0xC3, shift),
              tests::Buffer(layout, count, 0xC3, shift),
              {},
              {},
              {}};
      e.user.number();
      e.expected.resize(static_cast<std::size_t>(spec->size * count));
      type::typemap_pack(*spec, count, e.user.base(), e.expected.data());
      type::typemap_unpack(*spec, count, e.expected.data(), e.want.base());
      e.packed.assign(e.expected.size() + 1, 0xA5);
      e.constants.resize(e.recipe->constants_size() / 8 + 4);
      entries.push_back(std::move(e));
    }
    const auto jobs = [&](bool packing) {
      std::vector<Job> jobs;
      for (auto& e : entries) {
        const auto constants = (reinterpret_cast<std::uintptr_t>(e.constants.data()) + 15) / 16 * 16;
        const auto bytes = e.recipe->constants_at(constants);
        if (!bytes.empty()) std::memcpy(reinterpret_cast<void*>(constants), bytes.data(), bytes.size());
        jobs.push_back({e.recipe.get(), reinterpret_cast<std::uintptr_t>(packing ? e.user.base() : e.got.base()),
                        reinterpret_cast<std::uintptr_t>(e.packed.data()), 0, e.recipe->size(), constants});
      }
      return jobs;
    };
    ASSERT_TRUE(device.run(Direction::pack, plan(Direction::pack, jobs(true))));
    for (auto& e : entries) {
      ASSERT_EQ(e.packed.back(), 0xA5) << "seed " << seed;
      ASSERT_TRUE(std::equal(e.expected.begin(), e.expected.end(), e.packed.begin()))
          << "seed " << seed << ": " << type::to_text(*e.spec);
    }
    ASSERT_TRUE(device.run(Direction::unpack, plan(Direction::unpack, jobs(false))));
    for (auto& e : entries) ASSERT_EQ(e.want.bytes, e.got.bytes) << "seed " << seed << ": " << type::to_text(*e.spec);
    all += entries.size();
  }
  EXPECT_GT(all, 3000u);
}

/// A thread of a launch with many words moves four of them.
TEST(Kernels, ManyWordsFourToAThread) {
  for (const auto& [all, most] : {std::pair{2, 8}, {20, 32}, {50, 64}, {100, 128}}) {
    for (const bool many : {false, true}) {
      struct Entry {
        std::shared_ptr<const type::Spec> spec;
        Recipe recipe;
        tests::Buffer user, got;
        std::vector<unsigned char> packed;
      };
      std::deque<Entry> entries;
      std::vector<Job> packs, unpacks;
      for (int i = 0; i < all; ++i) {
        const auto words = i > 0 ? i : many ? 1 << 17 : 1000;
        const auto spec = type::parse("vector(" + std::to_string(words) + ",1,2,double)");
        const auto layout = type::layout_of(*spec);
        auto& e = entries.emplace_back(Entry{spec, Recipe(layout, 1), tests::Buffer(layout, 1, 0, 0),
                                             tests::Buffer(layout, 1, 0xC3, 0),
                                             std::vector<unsigned char>(static_cast<std::size_t>(spec->size))});
        e.user.number();
        const auto packed = reinterpret_cast<std::uintptr_t>(e.packed.data());
        packs.push_back({&e.recipe, reinterpret_cast<std::uintptr_t>(e.user.base()), packed, 0, e.recipe.size(), 0});
        unpacks.push_back({&e.recipe, reinterpret_cast<std::uintptr_t>(e.got.base()), packed, 0, e.recipe.size(), 0});
      }
      tests::EmulatedDevice device;
      const auto name = [&, most = most](const char* direction) {
        return "fused_" + std::string(direction) + "_n" + std::to_string(most) + (many ? "_u4" : "_u1");
      };
      ASSERT_TRUE(device.run(Direction::pack, plan(Direction::pack, packs)));
      EXPECT_EQ(device.names, std::vector{name("pack")});
      ASSERT_TRUE(device.run(Direction::unpack, plan(Direction::unpack, unpacks)));
      EXPECT_EQ(device.names, std::vector{name("unpack")});
      for (auto& e : entries) {
        tests::Buffer want(type::layout_of(*e.spec), 1, 0xC3, 0);
        std::vector<unsigned char> expected(e.packed.size());
        type::typemap_pack(*e.spec, 1, e.user.base(), expected.data());
        type::typemap_unpack(*e.spec, 1, expected.data(), want.base());
        ASSERT_TRUE(expected == e.packed);
        ASSERT_TRUE(want.bytes == e.got.bytes);
      }
    }
  }
}

// Indices beyond 2^32: loops without a stride have any length and need no memory.
TEST(Kernels, BeyondThirtyTwoBits) {
  tests::EmulatedDevice device;
  for (const auto* text : {"hvector(6000000000,1,0,vector(5,1,2,short))",
                           "hvector(3,1,0,hvector(2000000000,1,0,vector(5,1,3,byte)))",
                           "hvector(900000000,1,0,hvector(2,300,301,byte))",
                           "hvector(3000000000,1,0,hindexed_block(1,[0,6,8,20],short))",
                           "hvector(20000000,1,0,hindexed_block(301,[0,306,908,1210],byte))",
                           "hvector(400000000000,1,0,hindexed([1,2],[0,4],long_double))",
                           "hvector(6000000000,1,0,vector(5,1,2,int))",
                           "hvector(6000000000,1,0,vector(5,1,2,double))",
                           "hvector(6000000000,1,0,vector(5,1,2,long_double))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,12,40],int))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,16,40],double))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,16,48],long_double))",
                           "hvector(6000000000,1,0,hvector(3,1,40,byte))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,3,7],byte))",
                           "hvector(6000000000,1,0,hvector(3,1,40,short))",
                           "hvector(6000000000,1,0,hindexed_block(17,[0,19,40],byte))",
                           "hvector(6000000000,1,0,hindexed_block(9,[0,20,46],short))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,100,300],hvector(20,1,2,byte)))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,200,600],hvector(20,1,4,short)))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,400,1200],hvector(20,1,8,int)))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,800,2400],hvector(20,1,16,double)))",
                           "hvector(20000000,1,0,hindexed_block(304,[1,403,1001,1500],byte))",
                           "hvector(900000000,1,0,hvector(2,1,305,contiguous(304,byte)))",
                           "hvector(6000000000,1,0,hindexed_block(1,[0,64,160,304],short))",
                           "hvector(6000000000,1,0,hvector(3,1,40,int))",
                           "hvector(6000000000,1,0,hvector(3,1,40,double))"}) {
    const auto spec = type::parse(text);
    const auto layout = type::layout_of(*spec);
    const Recipe recipe(layout, 1);
    // What the innermost type packs to, again and again.
    const auto& inner = *spec->types[0]->types[0];
    const auto& unit = spec->types[0]->combiner == type::Combiner::hvector && spec->types[0]->integers[0] > 1000
                           ? inner
                           : *spec->types[0];
    tests::Buffer user(layout, 1, 0);
    user.number();
    std::vector<unsigned char> once(static_cast<std::size_t>(unit.size));
    type::typemap_pack(unit, 1, user.base(), once.data());
    std::vector<std::int64_t> aligned(recipe.constants_size() / 8 + 4);
    const auto constants = (reinterpret_cast<std::uintptr_t>(aligned.data()) + 15) / 16 * 16;
    const auto bytes = recipe.constants_at(constants);
    if (!bytes.empty()) std::memcpy(reinterpret_cast<void*>(constants), bytes.data(), bytes.size());
    for (const auto begin :
         {std::int64_t{0}, std::int64_t{1} << 31, (std::int64_t{1} << 32) - 160, recipe.size() / 16 * 16 - 3200}) {
      const auto end = std::min(recipe.size(), begin + 3200);
      if (begin >= end) continue;
      alignas(16) unsigned char packed[3200 + 16];
      std::fill(std::begin(packed), std::end(packed), 0xA5);
      const Job job{
          &recipe,  reinterpret_cast<std::uintptr_t>(user.base()), reinterpret_cast<std::uintptr_t>(packed), begin, end,
          constants};
      ASSERT_TRUE(device.run(Direction::pack, plan(Direction::pack, {&job, 1}))) << device.names.back();
      for (auto i = begin; i < end; ++i)
        ASSERT_EQ(packed[static_cast<std::size_t>(i - begin)], once[static_cast<std::size_t>(i % unit.size)])
            << text << ", byte " << i << ", " << device.names[0];
      EXPECT_EQ(packed[static_cast<std::size_t>(end - begin)], 0xA5);

      tests::Buffer want(layout, 1, 0xC3), got(layout, 1, 0xC3);
      type::typemap_unpack(unit, 1, once.data(), want.base());
      const Job back{&recipe, reinterpret_cast<std::uintptr_t>(got.base()), job.packed, begin, end, constants};
      ASSERT_TRUE(device.run(Direction::unpack, plan(Direction::unpack, {&back, 1}))) << device.names.back();
      EXPECT_EQ(want.bytes, got.bytes) << text << ", " << device.names[0];
    }
  }
}

// A kernel that no test reaches is not tested.
class AllAreReached : public testing::Environment {
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    for (const auto& kernel : emulated_kernels())
      EXPECT_TRUE(tests::EmulatedDevice::reached().contains(kernel.name)) << kernel.name;
  }
};
const auto* const all_are_reached = testing::AddGlobalTestEnvironment(new AllAreReached);

}  // namespace
}  // namespace dunnage::pack::cuda
