// What a process offers to others under names. One process stands for both.
#include "transport/shm/offers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace dunnage::transport::shm {
namespace {

std::unique_ptr<Memory> memory_of_this_process() { return Memory::make({static_cast<std::uint64_t>(getpid()), 0, 2}); }

TEST(Offers, AreFoundByTheirNames) {
  const auto own = memory_of_this_process();
  ASSERT_TRUE(own);
  const std::uint64_t name = 77, at_one_place = name + offers;
  EXPECT_FALSE(find_offer(*own, name)) << "nothing has been offered";
  ASSERT_TRUE(offer(*own, name, {64, 5}));
  ASSERT_TRUE(offer(*own, at_one_place, {128, 6}));
  const auto found = find_offer(*own, name), beside = find_offer(*own, at_one_place);
  ASSERT_TRUE(found && beside);
  EXPECT_EQ(found->begin, 64u);
  EXPECT_EQ(found->serial, 5u);
  EXPECT_EQ(beside->serial, 6u);
  EXPECT_FALSE(find_offer(*own, at_one_place + offers));
}

TEST(Offers, ALaterOneTakesThePlace) {
  const auto own = memory_of_this_process();
  ASSERT_TRUE(own);
  ASSERT_TRUE(offer(*own, 9, {64, 5}));
  ASSERT_TRUE(offer(*own, 9, {192, 8}));
  EXPECT_EQ(find_offer(*own, 9)->begin, 192u);
  EXPECT_EQ(find_offer(*own, 9)->serial, 8u);
}

TEST(Offers, ThereAreNotMoreThanThat) {
  const auto own = memory_of_this_process();
  ASSERT_TRUE(own);
  std::uint64_t made = 0;
  for (std::uint64_t name = 1; name <= 2 * offers; ++name) made += offer(*own, name, {64 * name, name});
  EXPECT_EQ(made, offers);
  for (std::uint64_t name = 1; name <= offers; ++name) EXPECT_EQ(find_offer(*own, name)->serial, name);
  EXPECT_FALSE(find_offer(*own, 2 * offers));
}

}  // namespace
}  // namespace dunnage::transport::shm
