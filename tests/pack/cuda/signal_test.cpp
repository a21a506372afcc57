// The kernels by which streams wait for each other, run on the host.
#include <array>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "pack/cuda/signal.hpp"
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
  const auto launches = plan_moves(jobs);
  ASSERT_EQ(launches.size(), 1u);
  const auto* moves = std::get_if<std::unique_ptr<Fused<8, FusedMove>>>(&launches[0].parameters);
  ASSERT_TRUE(moves);
  std::uint64_t epoch = 3;
  Slots theirs, ours;
  for (std::size_t i = 0; i < 3; ++i) ours[i] = 3;
  SmallExchange exchange;
  exchange.before = between(epoch, theirs, ours, 0);
  exchange.after = exchange.before;
  exchange.blocks = static_cast<std::uint32_t>(launches[0].blocks);
  exchange.moves = **moves;
  tests::EmulatedDevice device;
  ASSERT_TRUE(device.run("exchange_n8", &exchange));
  EXPECT_EQ(to, (std::array<double, 5>{1, 4, 7, 10, 13}));
  EXPECT_EQ(theirs[0], 3u);
  EXPECT_EQ(theirs[1], 0u);
  EXPECT_EQ(theirs[2], 3u);
}

}  // namespace
}  // namespace dunnage::pack::cuda
