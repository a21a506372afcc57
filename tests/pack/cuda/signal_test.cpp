// The kernels by which streams wait for each other, run on the host.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "pack/cuda/telling_moves.hpp"
#include "type/text.hpp"

namespace dunnage::pack::cuda {
namespace {

/// Slots of a rank, as far apart as kernels expect them.
struct Slots {
  alignas(8) std::array<char, 3 * slot_stride> bytes{};
  std::uint64_t& operator[](std::size_t i) {
    return reinterpret_cast<std::uint64_t*>(bytes.data())[i * slot_stride / 8];
  }
};

/// What tells two of three slots, and waits for three others.
Signal between(std::uint64_t& epoch, Slots& theirs, const Slots& ours, std::uint32_t advance) {
  Signal s;
  s.epoch = &epoch;
  s.put[0] = reinterpret_cast<std::uintptr_t>(&theirs[0]);
  s.put[1] = reinterpret_cast<std::uintptr_t>(&theirs[2]);
  s.wait = ours.bytes.data();
  s.puts = 2;
  s.waits = 3;
  s.advance = advance;
  return s;
}

TEST(Signal, AdvancesTellsAndWaits) {
  std::uint64_t epoch = 6;
  Slots theirs, ours;
  for (std::size_t i = 0; i < 3; ++i) ours[i] = 7 + i;  // those that are ahead have arrived, too
  auto s = between(epoch, theirs, ours, 1);
  tests::EmulatedDevice device;
  ASSERT_TRUE(device.run("signal", &s));
  EXPECT_EQ(epoch, 7u);
  EXPECT_EQ(theirs[0], 7u);
  EXPECT_EQ(theirs[1], 0u);
  EXPECT_EQ(theirs[2], 7u);
}

TEST(Signal, ReachesAcrossTheWrapOfEpochs) {
  std::uint64_t epoch = ~std::uint64_t{0};
  Slots theirs, ours;  // all 0: one after the greatest
  auto s = between(epoch, theirs, ours, 0);
  EXPECT_TRUE(reached(s, 0, epoch));
  EXPECT_FALSE(reached(s, 0, 1));
}

TEST(SmallExchange, MovesAndTells) {
  const auto columns = type::parse("vector(5,1,3,double)"), row = type::parse("contiguous(5,double)");
  const auto from_layout = type::layout_of(*columns), to_layout = type::layout_of(*row);
  const Recipe from_recipe(from_layout, 1), to_recipe(to_layout, 1);
  std::array<double, 15> from;
  std::array<double, 5> to{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + 1;
  const MoveJob job{&from_recipe, reinterpret_cast<std::uintptr_t>(from.data()), &to_recipe,
                    reinterpret_cast<std::uintptr_t>(to.data()), 40};
  const std::array<MoveJob, 2> jobs{job, job};
  const auto launches = plan_moves(jobs, true);
  ASSERT_EQ(launches.size(), 1u);
  const auto* moves = std::get_if<std::unique_ptr<CompletingMoves<8>>>(&launches[0].parameters);
  ASSERT_TRUE(moves);
  std::uint64_t epoch = 3;
  Slots theirs, ours;
  for (std::size_t i = 0; i < 3; ++i) ours[i] = 3;
  SmallExchange exchange;
  exchange.before = between(epoch, theirs, ours, 0);
  exchange.after = exchange.before;
  exchange.blocks = static_cast<std::uint32_t>(launches[0].blocks);
  exchange.moves = (*moves)->moves;
  tests::EmulatedDevice device;
  ASSERT_TRUE(device.run("exchange_n8", &exchange));
  EXPECT_EQ(to, (std::array<double, 5>{1, 4, 7, 10, 13}));
  EXPECT_EQ(theirs[0], 3u);
  EXPECT_EQ(theirs[1], 0u);
  EXPECT_EQ(theirs[2], 3u);
}

/// Columns of 3,000 words, which take three blocks each, to rows.
template <int N>
struct Columns {
  static constexpr std::size_t words = 3000, number = N == 8 ? 2 : N;
  const std::string columns = "vector(3000,1," + std::to_string(number) + ",double)";
  type::Layout column = type::layout_of(*type::parse(columns)),
               row = type::layout_of(*type::parse("contiguous(3000,double)"));
  Recipe column_recipe{column, 1}, row_recipe{row, 1};
  std::vector<double> from = std::vector<double>(number * words), to = std::vector<double>(number * words, -1);
  std::vector<Launch> launches;

  Columns() {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i);
    std::vector<MoveJob> jobs;
    for (std::size_t i = 0; i < number; ++i)
      jobs.push_back({&column_recipe, reinterpret_cast<std::uintptr_t>(from.data() + i), &row_recipe,
                      reinterpret_cast<std::uintptr_t>(to.data() + i * words), words * sizeof(double)});
    launches = plan_moves(jobs, true);
  }
  const Fused<N, FusedMove>& moves() const {
    return std::get<std::unique_ptr<CompletingMoves<N>>>(launches.at(0).parameters)->moves;
  }
  bool moved() const {
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i] != from[i % words * number + i / words]) return false;
    return true;
  }
};

template <class Entries>
class TellingMovesOf : public testing::Test {};
template <int N>
using Entries = std::integral_constant<int, N>;
using All = testing::Types<Entries<8>, Entries<32>, Entries<64>, Entries<128>>;
TYPED_TEST_SUITE(TellingMovesOf, All);

TYPED_TEST(TellingMovesOf, TheLastBlockTells) {
  constexpr int n = TypeParam::value;
  Columns<n> columns;
  const auto blocks = columns.launches[0].blocks;
  ASSERT_GT(blocks, 2u);
  std::uint64_t epoch = 8;
  std::uint32_t finished = 0;
  Slots theirs, ours;
  for (std::size_t i = 0; i < 3; ++i) ours[i] = 9;
  TellingMoves<n> all{{}, between(epoch, theirs, ours, 1), &finished, columns.moves()};
  tests::EmulatedDevice device;
  for (int exchange = 0; exchange < 2; ++exchange) {  // the count of blocks begins anew
    std::fill(columns.to.begin(), columns.to.end(), -1);
    ASSERT_TRUE(device.run("moves_tell_n" + std::to_string(n), &all, blocks));
    EXPECT_TRUE(columns.moved());
    EXPECT_EQ(epoch, 9u + static_cast<unsigned>(exchange));
    EXPECT_EQ(theirs[0], epoch);
    EXPECT_EQ(theirs[1], 0u);
    EXPECT_EQ(theirs[2], epoch);
    EXPECT_EQ(finished, 0u);
    for (std::size_t i = 0; i < 3; ++i) ours[i] = 10;
  }
}

TEST(TellingMoves, AllBlocksHaveStoredWhenOthersAreTold) {
  Columns<8> columns;
  std::uint64_t epoch = 1;
  std::uint32_t finished = 0;
  Slots theirs, ours;
  TellingMoves<8> all{{}, between(epoch, theirs, ours, 0), &finished, columns.moves()};
  std::thread kernel([&] {
    holds_stores = true;
    tests::EmulatedDevice().run("moves_tell_n8", &all, columns.launches[0].blocks);
  });
  // The kernel does not end before `ours` says so. Without a fence nobody sees its stores until
  // then.
  while (__atomic_load_n(&theirs[2], __ATOMIC_ACQUIRE) != 1) std::this_thread::yield();
  EXPECT_TRUE(columns.moved());
  for (std::size_t i = 0; i < 3; ++i) __atomic_store_n(&ours[i], 1, __ATOMIC_RELEASE);
  kernel.join();
}

TEST(TellingMoves, WaitsBeforeItMoves) {
  Columns<8> columns;
  const auto untouched = columns.to;
  std::uint64_t epoch = 4;
  std::uint32_t finished = 0;
  Slots theirs, ours, ready;
  for (std::size_t i = 0; i < 3; ++i) ours[i] = 5;
  TellingMoves<8> all{between(epoch, theirs, ready, 0), between(epoch, theirs, ours, 1), &finished, columns.moves()};
  std::thread kernel([&] { tests::EmulatedDevice().run("moves_tell_n8", &all, columns.launches[0].blocks); });
  // The epoch of the exchange that begins is 5, so the kernel goes on waiting.
  for (std::size_t i = 0; i < 3; ++i) __atomic_store_n(&ready[i], 4, __ATOMIC_RELEASE);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(columns.to, untouched);
  EXPECT_EQ(__atomic_load_n(&theirs[0], __ATOMIC_ACQUIRE), 0u);
  for (std::size_t i = 0; i < 3; ++i) __atomic_store_n(&ready[i], 5, __ATOMIC_RELEASE);
  kernel.join();
  EXPECT_TRUE(columns.moved());
  EXPECT_EQ(epoch, 5u);
  EXPECT_EQ(theirs[0], 5u);
}

TEST(CompletingMoves, TheLastBlockTellsTheHostOfEachKernel) {
  Columns<8> columns;
  auto& launch = columns.launches[0];
  ASSERT_GT(launch.blocks, 2u);
  auto& all = *std::get<std::unique_ptr<CompletingMoves<8>>>(launch.parameters);
  CompletionCount count{};
  std::uint64_t told = 0;
  all.completion = {&count, &told};
  tests::EmulatedDevice device;
  for (std::uint64_t kernel = 1; kernel <= 2; ++kernel) {
    std::fill(columns.to.begin(), columns.to.end(), -1);
    ASSERT_TRUE(device.run("moves_n8_u4", &all, launch.blocks));
    EXPECT_TRUE(columns.moved());
    EXPECT_EQ(told, kernel);
    EXPECT_EQ(count.kernels, kernel);
    EXPECT_EQ(count.finished, 0u);
  }
  all.completion = {};
  ASSERT_TRUE(device.run("moves_n8_u4", &all, launch.blocks));
  EXPECT_EQ(told, 2u);
}

TEST(CompletingMoves, StoresOfAllBlocksComeBeforeTheHostIsTold) {
  CompletionCount count{5, 0};
  std::uint64_t told = 5;
  std::array<int, 2> to{};
  HeldStores of_block[2];
  for (std::uint32_t block = 0; block < 2; ++block) {
    EXPECT_EQ(told, 5u);
    const int word = 7;
    held_stores = &of_block[block];
    held_stores->hold(&to[block], &word, sizeof word);
    complete({&count, &told}, 5, 2);
    held_stores = nullptr;
    EXPECT_EQ(to[block], word);
  }
  EXPECT_EQ(told, 6u);
  // One block alone.
  const int word = 8;
  held_stores = &of_block[0];
  held_stores->hold(to.data(), &word, sizeof word);
  complete({&count, &told}, 6, 1);
  held_stores = nullptr;
  EXPECT_EQ(to[0], word);
  EXPECT_EQ(told, 7u);
}

TEST(TellingMoves, OnlyTheLastBlockIsTheLastOne) {
  std::uint32_t finished = 0;
  EXPECT_FALSE(finish_block(&finished, 3));
  EXPECT_FALSE(finish_block(&finished, 3));
  EXPECT_TRUE(finish_block(&finished, 3));
  EXPECT_TRUE(finish_block(&finished, 1));
}

}  // namespace
}  // namespace dunnage::pack::cuda
