// The ranks are threads of one process. The first that joins keeps the roster.
#include "transport/host_roster.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "members.hpp"

namespace dunnage::transport {
namespace {

using std::chrono::milliseconds;

/// Nobody else on this host makes that number.
std::uint64_t host() {
  static std::uint64_t tests = 0;
  return static_cast<std::uint64_t>(getpid()) << 20 | ++tests;
}

Member member(std::uint64_t host, std::uint32_t rank, std::uint32_t ranks) { return with_place(rank, ranks, host); }

constexpr RosterPatience patience{milliseconds(1), milliseconds(100)};

/// What each is told. They connect in that order, all before one asks.
std::vector<std::optional<Told>> ask(const std::vector<Member>& members, const RosterPatience& with = patience) {
  std::vector<std::optional<HostRoster>> ranks;
  for (const auto& one : members) ranks.push_back(HostRoster::join(one.host, one.ranks));
  std::vector<std::optional<Told>> told(members.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < members.size(); ++i)
    threads.emplace_back([&, i] {
      if (ranks[i]) told[i] = ranks[i]->answer(members[i], with);
    });
  for (auto& thread : threads) thread.join();
  return told;
}

bool none(const std::vector<std::optional<Told>>& all) {
  for (const auto& told : all)
    if (told) return false;
  return true;
}

TEST(HostRoster, AllAreToldWhatAllHaveSaid) {
  const auto at = host();
  for (const auto& one : ask({member(at, 1, 3), member(at, 2, 3), member(at, 0, 3)})) {
    ASSERT_TRUE(one);
    EXPECT_EQ(one->together, 1u);
    EXPECT_EQ(one->wants, 7u);
    EXPECT_EQ(one->words, member(at, 0, 3).words);
    EXPECT_EQ(one->places, (std::vector<Place>{{1000, 60}, {1001, 61}, {1002, 62}}));
  }
}

TEST(HostRoster, AsManyRanksAsThereArePlaces) {
  const auto at = host();
  std::vector<Member> members;
  for (std::uint32_t rank = 0; rank < most_places; ++rank) members.push_back(member(at, rank, most_places));
  // With ThreadSanitizer it takes a tenth of a second to start so many threads.
  for (const auto& one : ask(members, {milliseconds(1), milliseconds(10000)})) {
    ASSERT_TRUE(one);
    EXPECT_EQ(one->places.size(), most_places);
  }
  EXPECT_FALSE(HostRoster::join(host(), most_places + 1));
}

TEST(HostRoster, ARankWithoutMemoryHasNoPlace) {
  const auto at = host();
  auto without = member(at, 1, 2);
  without.place = {};
  for (const auto& one : ask({member(at, 0, 2), without})) {
    ASSERT_TRUE(one);
    EXPECT_TRUE(one->places.empty());
  }
}

TEST(HostRoster, NoToAllIfOneIsMissing) {
  const auto at = host();
  EXPECT_TRUE(none(ask({member(at, 2, 3), member(at, 0, 3)})));
  EXPECT_TRUE(none(ask({member(at, 1, 3)}))) << "who comes late";
  EXPECT_EQ(ask({member(at, 0, 1)}).size(), 1u) << "the name is free again";
}

TEST(HostRoster, NoToAllIfOneDiffers) {
  const auto at = host();
  auto settings = member(at, 1, 2), world = settings;
  settings.settings = 1;
  world.world = 8;
  EXPECT_TRUE(none(ask({member(at, 0, 2), settings})));
  EXPECT_TRUE(none(ask({member(at, 0, 2), world})));
  EXPECT_TRUE(none(ask({member(at, 0, 2), member(at, 1, 3)})));
  EXPECT_TRUE(none(ask({member(at, 0, 2), member(at, 0, 2)}))) << "one rank twice";
  EXPECT_TRUE(none(ask({member(at, 0, 2), member(at, 2, 2)}))) << "no such rank";
  EXPECT_FALSE(none(ask({member(at, 0, 2), member(at, 1, 2)})));
}

TEST(HostRoster, JobsAreToldApart) {
  const auto one = host(), other = host();
  EXPECT_FALSE(none(ask({member(one, 0, 2), member(other, 1, 2), member(one, 1, 2), member(other, 0, 2)})));
}

TEST(HostRoster, NoToAllIfOneTakesNoPart) {
  for (const std::size_t gone : {0, 1, 2}) {  // the first is the keeper
    const auto at = host();
    std::vector<std::optional<HostRoster>> ranks;
    for (int rank = 0; rank < 3; ++rank) ranks.push_back(HostRoster::join(at, 3));
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        if (rank == gone)
          ranks[rank].reset();
        else
          EXPECT_FALSE(ranks[rank]->answer(member(at, rank, 3), patience)) << gone;
      });
    for (auto& thread : threads) thread.join();
  }
}

/// As if two launchers had made the ranks of two jobs believe that they are of one.
TEST(HostRoster, NoToAllIfThereAreTooMany) {
  const auto at = host();
  EXPECT_TRUE(none(ask({member(at, 0, 2), member(at, 1, 2), member(at, 1, 2)})));
  EXPECT_TRUE(none(ask({member(at, 0, 2), member(at, 1, 2), member(at, 0, 2), member(at, 1, 2)})));
}

TEST(HostRoster, WhoSaysNothingIsNotWaitedForForEver) {
  const auto at = host();
  auto keeper = HostRoster::join(at, 2), other = HostRoster::join(at, 2);
  ASSERT_TRUE(keeper && other);
  EXPECT_FALSE(keeper->answer(member(at, 0, 2), patience));
  EXPECT_FALSE(other->answer(member(at, 1, 2), patience)) << "too late";
}

TEST(HostRoster, WithoutFilesTheAnswerIsNo) {
  const auto at = host();
  auto keeper = HostRoster::join(at, 2), other = HostRoster::join(at, 2);
  ASSERT_TRUE(keeper && other);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none_left{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const auto told = keeper->answer(member(at, 0, 2), patience);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(told);
  EXPECT_FALSE(other->answer(member(at, 1, 2), patience));
}

/// A child that has copies of the sockets and lives on. It keeps the name.
TEST(HostRoster, AChildThatLivesOnKeepsNobodyWaiting) {
  const auto at = host();
  auto keeper = HostRoster::join(at, 2);
  ASSERT_TRUE(keeper);
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    char byte;
    _exit(static_cast<int>(read(end[0], &byte, 1)));
  }
  keeper.reset();
  EXPECT_TRUE(none(ask({member(at, 0, 2), member(at, 1, 2)})));
  close(end[1]);
  waitpid(child, nullptr, 0);
  close(end[0]);
}

int connection_to(std::uint64_t host) {
  const int file = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un to{AF_UNIX, {}};
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(host));
  const auto name = std::string("dunnage-") + hello_magic + '-' + digits;
  name.copy(to.sun_path + 1, name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(connect(file, reinterpret_cast<const sockaddr*>(&to), size), 0);
  return file;
}

/// A process of this user that is no rank, and one that has gone.
TEST(HostRoster, WhoIsNoRankMakesAllDoubtful) {
  const auto at = host();
  auto keeper = HostRoster::join(at, 2);
  const int file = connection_to(at);
  ASSERT_EQ(send(file, "hello", 5, 0), 5);
  ASSERT_TRUE(keeper);
  EXPECT_FALSE(keeper->answer(member(at, 0, 2), patience));
  close(file);
}

/// Needs the right to become another user.
TEST(HostRoster, OtherUsersAreNotHeard) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto at = host();
  auto keeper = HostRoster::join(at, 2);
  ASSERT_TRUE(keeper);
  const auto as_another_user = [&](auto&& what) {
    const pid_t child = fork();
    if (child == 0) _exit(setuid(12345) == 0 && what() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(as_another_user([&] { return !HostRoster::join(at, 2); })) << "the keeper is another user's";
  EXPECT_TRUE(as_another_user([&] {
    const int file = connection_to(at);
    const auto liar = member(at, 1, 2);
    return send(file, &liar, sizeof liar, 0) == static_cast<ssize_t>(sizeof liar);
  }));
  auto other = HostRoster::join(at, 2);
  ASSERT_TRUE(other);
  std::thread rank([&] { EXPECT_TRUE(other->answer(member(at, 1, 2), patience)); });
  EXPECT_TRUE(keeper->answer(member(at, 0, 2), patience));
  rank.join();
}

}  // namespace
}  // namespace dunnage::transport
