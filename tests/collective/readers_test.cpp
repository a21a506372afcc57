#include "collective/readers.hpp"

#include <random>

#include <gtest/gtest.h>

namespace dunnage::collective {
namespace {

constexpr std::int64_t large = 64 << 20;
using Sources = std::vector<std::uint16_t>;

TEST(Readers, OneOnEachOfTwoGpusReadsFromTheRoot) {
  const std::uint64_t devices[] = {11, 22};
  const auto r = readers(devices, 1, large, between_gpus);
  EXPECT_EQ(r.source, (Sources{1, 1}));
  EXPECT_EQ(r.segment, 0);
}

TEST(Readers, ThoseThatShareAGpuReadFromItsFirst) {
  const std::uint64_t devices[] = {11, 22, 11, 22, 22};
  EXPECT_EQ(readers(devices, 0, large, between_gpus).source, (Sources{0, 0, 0, 1, 1}));
  EXPECT_EQ(readers(devices, 3, large, between_gpus).source, (Sources{3, 3, 0, 3, 3}));
}

TEST(Readers, OneChainAlongManyGpus) {
  const std::uint64_t devices[] = {5, 6, 7, 8};
  const auto r = readers(devices, 2, large, between_gpus);
  EXPECT_EQ(r.source, (Sources{2, 0, 2, 1}));
  EXPECT_GT(r.segment, 0);
  EXPECT_LT(r.segment, large / 4);
}

TEST(Readers, ShortMessagesAreReadFromTheRoot) {
  const std::uint64_t devices[] = {5, 6, 7, 8};
  EXPECT_EQ(readers(devices, 0, 1 << 20, between_gpus).segment, 0);
  EXPECT_EQ(readers(devices, 3, 1 << 20, between_gpus).source, (Sources{3, 3, 3, 3}));
}

TEST(Readers, WhoseDeviceIsNotKnownReadsFromTheRoot) {
  const std::uint64_t devices[] = {5, 0, 7, 8, 0};
  EXPECT_EQ(readers(devices, 0, large, between_gpus).source, (Sources{0, 0, 0, 2, 0}));
  EXPECT_EQ(readers(devices, 1, large, between_gpus).source, (Sources{1, 1, 1, 1, 1}));
}

TEST(Readers, EveryoneGetsItFromTheRootInTheEnd) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint64_t> devices(2 + random() % 20);
    for (auto& d : devices) d = random() % 9;
    const auto root = static_cast<std::uint32_t>(random() % devices.size());
    const auto r = readers(devices, root, std::int64_t{1} << (10 + random() % 20), between_gpus);
    ASSERT_EQ(r.source.size(), devices.size());
    for (std::size_t p = 0; p < devices.size(); ++p) {
      std::size_t at = p, steps = 0;
      while (at != root && ++steps <= devices.size()) at = r.source[at];
      ASSERT_EQ(at, root) << "process " << p << " of " << devices.size() << ", turn " << i;
    }
  }
}

}  // namespace
}  // namespace dunnage::collective
