// Packing with helpers: every byte once, by whoever.
#include "pack/cpu/helpers.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "pack/cpu/program.hpp"
#include "type/text.hpp"

namespace dunnage::pack {
namespace {

constexpr std::int64_t large = Helpers::least + 100000;

/// Marks the bytes of a range in parts, and says who has done how many.
struct Marks {
  explicit Marks(std::int64_t size) : bytes(static_cast<std::size_t>(size)) {}
  void share(Helpers& helpers, std::int64_t begin, std::int64_t end, std::int64_t lead) {
    const auto here = std::this_thread::get_id();
    helpers.share(begin, end, lead, [&](std::int64_t from, std::int64_t until) {
      if (from != begin) {
        EXPECT_EQ((from - begin - lead) % 64, 0);
      }
      for (auto i = from; i < until; ++i) ++bytes[static_cast<std::size_t>(i)];
      if (std::this_thread::get_id() != here) others.fetch_add(until - from);
    });
  }
  bool all(std::int64_t begin, std::int64_t end, int times) const {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(bytes.size()); ++i)
      if (bytes[static_cast<std::size_t>(i)] != (i >= begin && i < end ? times : 0)) return false;
    return true;
  }
  std::vector<char> bytes;
  std::atomic<std::int64_t> others{0};
};

TEST(Helpers, DoEachByteOnce) {
  Helpers helpers;
  helpers.allow(3);
  for (const std::int64_t end : {large, Helpers::least + 4097})
    for (const std::int64_t begin : {0, 1, 4097})
      for (const std::int64_t lead : {0, 1, 63}) {
        Marks marks(end + 10);
        marks.share(helpers, begin, end, lead);
        EXPECT_TRUE(marks.all(begin, end, 1)) << begin << " " << end << " " << lead;
      }
}

TEST(Helpers, HelpOneThreadAtATime) {
  Helpers helpers;
  helpers.allow(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Marks marks(large);
      for (int i = 1; i <= 4; ++i) {
        marks.share(helpers, 0, large, 0);
        EXPECT_TRUE(marks.all(0, large, i));
      }
    });
  for (auto& thread : threads) thread.join();
  helpers.stop();
  Marks marks(large);
  marks.share(helpers, 0, large, 0);  // they begin again
  EXPECT_TRUE(marks.all(0, large, 1));
}

TEST(Helpers, AreNotThereIfTheProcessIsBoundToOneCore) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    Helpers helpers;
    helpers.allow(3);
    Marks marks(large);
    for (int i = 0; i < 3; ++i) marks.share(helpers, 0, large, 0);
    EXPECT_EQ(marks.others, 0);
    EXPECT_FALSE(helpers.help_with(large));
  }).join();
}

TEST(Helpers, AreNotThoseOfTheParentInAForkedProcess) {
  Helpers helpers;
  helpers.allow(2);
  Marks marks(large);
  marks.share(helpers, 0, large, 0);
  const auto child = fork();
  if (child == 0) {
    marks.share(helpers, 0, large, 0);
    const bool right = marks.all(0, large, 2);
    helpers.stop();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(marks.all(0, large, 1));
}

TEST(Helpers, PackAndUnpackAsOneThreadDoes) {
  // Rows, short blocks that are gathered, a list of blocks, a transpose, and one contiguous block.
  for (const auto* text : {"vector(3000,64,128,double)", "vector(200000,1,2,double)",
                           "hvector(500,1,9000,vector(100,3,9,double))", "resized(0,8,vector(1000,1,1000,double))",
                           "contiguous(1500000,char)", "indexed_block(100,[0,900,1300,7000],double)"}) {
    const auto layout = type::layout_of(*type::parse(text));
    const auto count = std::max<std::int64_t>(1500000 / layout.size, 1);
    const Program program(layout, std::min<std::int64_t>(count, 1000));
    const auto span = static_cast<std::size_t>(program.span() + 8), size = static_cast<std::size_t>(program.size());
    std::vector<char> user(span), packed(size + 3, 1), with(size + 3, 2), back(span, 3), with_back(span, 3);
    for (std::size_t i = 0; i < span; ++i) user[i] = static_cast<char>(i * 7 + (i >> 8));
    for (const auto stores : {Stores::cached, Stores::streamed}) {
      program.pack(user.data(), packed.data() + 3, 0, program.size(), stores);
      program.unpack(packed.data() + 3, back.data(), 0, program.size(), stores);
      helpers().allow(3);
      program.pack(user.data(), with.data() + 3, 0, program.size(), stores);
      program.unpack(packed.data() + 3, with_back.data(), 0, program.size(), stores);
      helpers().allow(0);
      EXPECT_TRUE(std::equal(packed.begin() + 3, packed.end(), with.begin() + 3)) << text;
      EXPECT_EQ(back, with_back) << text;
      std::fill(with.begin(), with.end(), 9);
      std::fill(with_back.begin(), with_back.end(), 3);
    }
  }
  helpers().stop();
}

}  // namespace
}  // namespace dunnage::pack
