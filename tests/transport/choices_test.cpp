// What processes tell each other about data of one kind. One process stands for both.
#include "transport/shm/choices.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <vector>

namespace dunnage::transport::shm {
namespace {

std::unique_ptr<Memory> memory_of_this_process() { return Memory::make({static_cast<std::uint64_t>(getpid()), 0, 2}); }

TEST(Choices, AreFoundByTheirNames) {
  const auto own = memory_of_this_process();
  ASSERT_TRUE(own);
  const std::uint64_t name = 77, at_one_place = name + choices;
  EXPECT_EQ(find_choice(*own, name), 0u) << "nobody has told anything";
  auto* place = take_choice(*own, name);
  auto* beside = take_choice(*own, at_one_place);
  ASSERT_TRUE(place && beside);
  EXPECT_NE(place, beside);
  EXPECT_EQ(take_choice(*own, name), place);
  place->store(2);
  beside->store(1);
  EXPECT_EQ(find_choice(*own, name), 2u);
  EXPECT_EQ(find_choice(*own, at_one_place), 1u);
  EXPECT_EQ(find_choice(*own, at_one_place + choices), 0u);
}

TEST(Choices, ThereAreNotMoreThanThat) {
  const auto own = memory_of_this_process();
  ASSERT_TRUE(own);
  std::map<std::atomic<std::uint32_t>*, std::uint64_t> names;
  for (std::uint64_t name = 5; name < 5 + 3 * choices; name += 3)
    if (auto* place = take_choice(*own, name)) {
      EXPECT_TRUE(names.emplace(place, name).second) << name;
      place->store(static_cast<std::uint32_t>(name));
    }
  EXPECT_GT(names.size(), choices / 2);
  for (const auto& [place, name] : names) EXPECT_EQ(find_choice(*own, name), name);
  for (std::uint64_t name = 1; name <= choices; ++name) take_choice(*own, 3 * choices + 5 + name);
  EXPECT_EQ(take_choice(*own, 9 * choices), nullptr);
  EXPECT_EQ(find_choice(*own, 9 * choices), 0u);
}

TEST(Choices, OneNameHasOnePlaceWhicheverThreadAsksFirst) {
  const auto own = memory_of_this_process();
  ASSERT_TRUE(own);
  constexpr std::size_t names = most_looks_at_choices;  // which begin at one place
  std::vector<std::vector<std::atomic<std::uint32_t>*>> found(4);
  std::vector<std::thread> all;
  for (std::size_t thread = 0; thread < found.size(); ++thread)
    all.emplace_back([&, thread] {
      for (std::size_t i = 0; i < names; ++i)
        found[thread].push_back(take_choice(*own, 7 + choices * ((i + 4 * thread) % names)));
    });
  for (auto& thread : all) thread.join();
  for (std::size_t thread = 0; thread < found.size(); ++thread)
    for (std::size_t i = 0; i < names; ++i) {
      EXPECT_TRUE(found[thread][i]);
      EXPECT_EQ(found[thread][i], found[0][(i + 4 * thread) % names]);
    }
}

}  // namespace
}  // namespace dunnage::transport::shm
