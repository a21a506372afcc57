// Processes that agree from which of their calls on they do something themselves. Threads stand for
// processes.
#include "transport/shm/agreement.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace dunnage::transport::shm {
namespace {

bool agreed(Agreement& agreement, std::uint64_t call, bool wants) {
  return shm::agreed(agreement, call, [wants] { return wants; });
}

std::unique_ptr<Memory> memory_of_this_process() { return Memory::make({static_cast<std::uint64_t>(getpid()), 0, 2}); }

TEST(Agreement, TheFirstWhoWantsGetsItsCallIfNobodyHasBegunIt) {
  Agreement agreement;
  EXPECT_TRUE(agreed(agreement, 1, true));
  EXPECT_TRUE(agreed(agreement, 1, false)) << "another process";
  EXPECT_TRUE(agreed(agreement, 2, false));
}

TEST(Agreement, CallsThatHaveBegunStayAsTheyAre) {
  Agreement agreement;
  EXPECT_FALSE(agreed(agreement, 1, false));
  EXPECT_FALSE(agreed(agreement, 2, false));
  EXPECT_FALSE(agreed(agreement, 1, true)) << "another process is two calls behind";
  EXPECT_FALSE(agreed(agreement, 2, true));
  EXPECT_TRUE(agreed(agreement, 3, true));
  EXPECT_TRUE(agreed(agreement, 3, false));
}

TEST(Agreement, NobodyIsAskedOnceItHasBeenMade) {
  Agreement agreement;
  EXPECT_TRUE(agreed(agreement, 1, true));
  EXPECT_TRUE(shm::agreed(agreement, 2, []() -> bool { throw std::logic_error("asked"); }));
}

TEST(Agreement, NobodyWants) {
  Agreement agreement;
  for (std::uint64_t call = 1; call < 100; ++call) EXPECT_FALSE(agreed(agreement, call, false));
}

TEST(Agreement, AllProcessesFindOneAnswerForEachCall) {
  constexpr int processes = 3, rounds = 2000, calls = 12;
  for (unsigned round = 0; round < rounds; ++round) {
    Agreement agreement;
    std::vector<std::vector<bool>> answers(processes);
    std::vector<std::thread> all;
    for (unsigned process = 0; process < processes; ++process)
      all.emplace_back([&agreement, &mine = answers[process], seed = round * processes + process] {
        std::mt19937 random(seed);
        const auto from = random() % (2 * calls);  // the first call in which it wants to
        for (std::uint64_t call = 1; call <= calls; ++call) mine.push_back(agreed(agreement, call, call > from));
      });
    for (auto& thread : all) thread.join();
    for (const auto& mine : answers) {
      EXPECT_EQ(mine, answers.front()) << "round " << round;
      EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end())) << "an agreement ends";
    }
  }
}

TEST(Agreement, NamesHavePlacesOfTheirOwn) {
  const auto memory = memory_of_this_process();
  ASSERT_TRUE(memory);
  std::map<std::uint32_t, std::uint64_t> names;  // by number
  for (std::uint64_t name = 5; name < 5 + 3 * agreements; name += 3) {
    const auto number = find_agreement(*memory, name);
    ASSERT_TRUE(number || name > 5 + agreements) << name;
    if (!number) continue;
    EXPECT_TRUE(names.emplace(*number, name).second) << name;
    EXPECT_EQ(find_agreement(*memory, name), number);
    EXPECT_EQ(memory->agreement(*number).state.load(), 0u);
  }
  for (const auto& [number, name] : names) EXPECT_EQ(find_agreement(*memory, name), number);
}

TEST(Agreement, ThereAreNotMoreThanThat) {
  const auto memory = memory_of_this_process();
  ASSERT_TRUE(memory);
  for (std::uint64_t name = 1; name <= agreements; ++name) EXPECT_TRUE(find_agreement(*memory, name));
  EXPECT_FALSE(find_agreement(*memory, agreements + 1));
  EXPECT_FALSE(find_agreement(*memory, agreements + 1)) << "the next who asks gets that answer too";
}

TEST(Agreement, OneNameHasOnePlaceWhoeverAsksFirst) {
  const auto memory = memory_of_this_process();
  ASSERT_TRUE(memory);
  std::vector<std::vector<std::optional<std::uint32_t>>> found(4);
  std::vector<std::thread> all;
  for (unsigned thread = 0; thread < found.size(); ++thread)
    all.emplace_back([&, thread] {
      // Names that begin at one place, in another order for each thread.
      for (std::uint64_t i = 0; i < 40; ++i)
        found[thread].push_back(find_agreement(*memory, 7 + agreements * ((i + 10 * thread) % 40)));
    });
  for (auto& thread : all) thread.join();
  for (std::size_t thread = 0; thread < found.size(); ++thread)
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(found[thread][i], found[0][(i + 10 * thread) % 40]);
}

}  // namespace
}  // namespace dunnage::transport::shm
