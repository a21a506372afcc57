// The server runs in a thread, and each rank in another. The tests wait for answers, and measure no
// times.
#include "transport/bootstrap.hpp"
#include "transport/introduction.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "members.hpp"

namespace dunnage::transport {
namespace {

using std::chrono::milliseconds;

bool everyone_is_here(const std::string& address, const Member& self, milliseconds patience = std::chrono::seconds(1),
                      milliseconds patience_with_server = std::chrono::seconds(30)) {
  return Introduction(address, self).answer(patience, patience_with_server).has_value();
}

/// A connection to a port of this host.
int connection_to(std::uint16_t port) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return file;
}

class Bootstrap : public testing::Test {
 protected:
  void SetUp() override {
    auto server = BootstrapServer::open();
    ASSERT_TRUE(server);
    address_ = server->address();
    ASSERT_EQ(pipe(end_), 0);
    thread_ = std::thread([this, s = std::move(*server)]() mutable { s.serve(end_[0]); });
  }
  void TearDown() override {
    close(end_[1]);
    thread_.join();
    close(end_[0]);
  }
  /// The answers to ranks that come at the same time.
  std::vector<bool> ask(const std::vector<Member>& members) {
    std::vector<std::thread> ranks;
    std::vector<std::atomic<bool>> answers(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      ranks.emplace_back([&, i] { answers[i] = everyone_is_here(address_, members[i]); });
    for (auto& rank : ranks) rank.join();
    return {answers.begin(), answers.end()};
  }
  std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoi(address_)); }
  std::string address_;

 private:
  int end_[2];
  std::thread thread_;
};

TEST_F(Bootstrap, YesToAllWhereAllAreHere) {
  EXPECT_EQ(ask({{7, 0, 3}, {7, 2, 3}, {7, 1, 3}}), std::vector<bool>(3, true));
  EXPECT_EQ(ask({{7, 1, 2}, {7, 0, 2}}), std::vector<bool>(2, true)) << "the next job";
}

TEST_F(Bootstrap, NoToAllWhereOneIsMissing) { EXPECT_EQ(ask({{7, 0, 3}, {7, 1, 3}}), std::vector<bool>(2, false)); }

TEST_F(Bootstrap, JobsAtTheSameTimeAreToldApart) {
  EXPECT_EQ(ask({{1, 0, 2}, {2, 0, 2}, {2, 1, 2}}), (std::vector<bool>{false, true, true}));
}

TEST_F(Bootstrap, RanksWithOtherSettingsAreNotOfTheJob) {
  for (const std::uint64_t world : {0, 7}) {
    EXPECT_EQ(ask({{world, 0, 2, 1}, {world, 1, 2, 2}}), std::vector<bool>(2, false)) << world;
    EXPECT_EQ(ask({{world, 0, 2, 3}, {world, 1, 2, 3}}), std::vector<bool>(2, true)) << world;
  }
}

TEST_F(Bootstrap, TheSameRankTwiceMakesAllDoubtful) {
  EXPECT_EQ(ask({{0, 0, 3}, {0, 0, 3}, {0, 1, 3}}), std::vector<bool>(3, false));
}

TEST_F(Bootstrap, WhoComesLateHearsWhatTheOthersHeard) {
  EXPECT_EQ(ask({{7, 0, 2}}), std::vector<bool>{false});
  EXPECT_EQ(ask({{7, 1, 2}}), std::vector<bool>{false});
}

TEST_F(Bootstrap, ARankBeyondTheJobIsRefused) { EXPECT_EQ(ask({{7, 2, 2}, {7, 0, 2}}), std::vector<bool>(2, false)); }

TEST_F(Bootstrap, StrangersAreNotHeardAndDisturbNobody) {
  const int file = connection_to(port());
  ASSERT_EQ(send(file, "GET / HTTP/1.0", 14, 0), 14);  // then nothing more is sent
  const auto key = address_.find(':') + 20;
  auto wrong = address_;
  wrong[key] = wrong[key] == '0' ? '1' : '0';
  EXPECT_FALSE(everyone_is_here(wrong, {7, 0, 1}, milliseconds(50)));
  EXPECT_EQ(ask({{7, 0, 2}, {7, 1, 2}}), std::vector<bool>(2, true));
  close(file);
}

/// Something else that listens, and may say something.
class Impostor {
 public:
  explicit Impostor(const std::string& says) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = std::to_string(ntohs(at.sin_port));
    thread_ = std::thread([this, says] {
      const int guest = accept(listener_, nullptr, nullptr);
      EXPECT_EQ(send(guest, says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
      char bytes[256];
      for (ssize_t got; (got = recv(guest, bytes, sizeof bytes, 0)) > 0;)
        heard_.append(bytes, static_cast<std::size_t>(got));
      close(guest);
    });
  }
  ~Impostor() {
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  static std::string key() { return "0123456789abcdef0123456789abcdef"; }
  std::string address() const { return port_ + ':' + key() + ":127.0.0.1"; }
  /// All that it was told, when the other side has hung up.
  std::string heard() {
    thread_.join();
    return heard_;
  }

 private:
  const int listener_;
  std::string port_, heard_;
  std::thread thread_;
};

TEST(BootstrapAddress, WhoDoesNotKnowTheKeyIsNoServer) {
  for (const auto& says : {std::string(), std::string(sizeof(Answer), 'x'), std::string(4000, 'y')}) {
    Impostor impostor(says);
    EXPECT_FALSE(everyone_is_here(impostor.address(), {7, 0, 1}, milliseconds(100), milliseconds(100)));
  }
}

TEST_F(Bootstrap, NobodyIsToldTheKey) {
  std::string said;
  {
    Impostor impostor("");
    EXPECT_FALSE(everyone_is_here(impostor.address(), {7, 0, 1}, milliseconds(100), milliseconds(100)));
    said = impostor.heard();
    ASSERT_GE(said.size(), sizeof(Hello));
  }
  // And what the server answers to a rank.
  Hello hello{{}, {1, 2}, {7, 0, 1}, 0};
  std::memcpy(hello.magic, hello_magic, sizeof hello.magic);
  const auto digits = address_.substr(address_.find(':') + 1, 32);
  hello.proof = proof_of(key_from(digits).value(), hello);
  const int file = connection_to(port());
  ASSERT_EQ(send(file, &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
  std::string answer(4096, '\0');
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(recv(file, answer.data(), answer.size(), 0), 0)));
  close(file);
  EXPECT_EQ(answer.size(), sizeof(Answer));
  for (const auto& [text, key] : {std::pair{said, Impostor::key()}, std::pair{answer, digits}}) {
    EXPECT_EQ(text.find(key.substr(0, 4)), text.npos);
    for (std::size_t i = 0; i < key.size(); i += 16) {
      const auto half = std::stoull(key.substr(i, 16), nullptr, 16);
      EXPECT_EQ(text.find({reinterpret_cast<const char*>(&half), sizeof half}), text.npos);
    }
  }
}

// A server that has not answered yet is no other for a rank than one that never answers.
TEST_F(Bootstrap, AnAnswerIsNotWaitedForForEver) {
  EXPECT_FALSE(everyone_is_here(address_, {7, 0, 2}, std::chrono::seconds(5), milliseconds(1)));
}

TEST_F(Bootstrap, WhoDoesNotWaitYetHurriesNobody) {
  Introduction early(address_, {7, 0, 2});
  std::this_thread::sleep_for(BootstrapServer::patience + milliseconds(200));
  EXPECT_TRUE(everyone_is_here(address_, {7, 1, 2}));
  EXPECT_TRUE(early.answer());
}

TEST_F(Bootstrap, WhoHangsUpMakesAllDoubtful) {
  { const Introduction gone(address_, {7, 0, 2}); }
  EXPECT_FALSE(everyone_is_here(address_, {7, 1, 2}));
}

TEST_F(Bootstrap, ARankMaySpeakToSeveralAddresses) {
  auto address = address_.substr(0, address_.find(':') + 34);
  address += "127.0.0.1,127.0.0.2,127.0.0.1";
  Introduction first(address, {7, 0, 2}), second(address, {7, 1, 2});
  EXPECT_TRUE(first.answer());
  EXPECT_TRUE(second.answer());
}

TEST_F(Bootstrap, TheLoopOfAnotherMachineIsNotTheServers) {
  const auto address = address_.substr(0, address_.find(':') + 34) + "127.0.0.1:abc";
  EXPECT_FALSE(Introduction(address, {7, 0, 1}, 0xdef).answer());
  EXPECT_TRUE(Introduction(address, {7, 0, 1}, 0xabc).answer());
  EXPECT_TRUE(Introduction(address, {7, 0, 1}).answer()) << "nobody knows";
}

/// What the ranks are told, which is the same for all.
std::optional<Told> told(const std::string& address, const std::vector<Member>& members) {
  std::vector<Introduction> ranks;
  for (const auto& member : members) ranks.emplace_back(address, member);
  std::vector<std::optional<Told>> all;
  for (auto& rank : ranks) all.push_back(rank.answer());
  for (const auto& one : all) {
    EXPECT_EQ(one.has_value(), all[0].has_value());
    if (!one || !all[0]) continue;
    EXPECT_EQ(one->together, all[0]->together);
    EXPECT_EQ(one->wants, all[0]->wants);
    EXPECT_EQ(one->words, all[0]->words);
    EXPECT_EQ(one->places, all[0]->places);
  }
  return all[0];
}

TEST_F(Bootstrap, AllAreToldWhatAllHaveSaid) {
  const auto all = told(address_, {with_place(1, 3), with_place(2, 3), with_place(0, 3)});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->together, 1u);
  EXPECT_EQ(all->wants, 7u);
  EXPECT_EQ(all->words, with_place(0, 3).words);
  EXPECT_EQ(all->places, (std::vector<Place>{{1000, 60}, {1001, 61}, {1002, 62}}));
}

TEST_F(Bootstrap, PlacesAreToldIfAllCanReachAll) {
  const auto on_two_hosts = told(address_, {with_place(0, 2), with_place(1, 2, 6)});
  ASSERT_TRUE(on_two_hosts);
  EXPECT_EQ(on_two_hosts->together, 0u);
  EXPECT_TRUE(on_two_hosts->places.empty());
  const auto on_unknown_hosts = told(address_, {with_place(0, 2, 0), with_place(1, 2, 0)});
  ASSERT_TRUE(on_unknown_hosts);
  EXPECT_EQ(on_unknown_hosts->together, 0u);
  auto without = with_place(1, 2);
  without.place = {};
  const auto with_one_missing = told(address_, {with_place(0, 2), without});
  ASSERT_TRUE(with_one_missing);
  EXPECT_EQ(with_one_missing->together, 1u);
  EXPECT_TRUE(with_one_missing->places.empty());
}

TEST_F(Bootstrap, OfManyRanksThePlacesAreNotTold) {
  for (const std::uint32_t ranks : {most_places, most_places + 1}) {
    std::vector<Member> members;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) members.push_back(with_place(rank, ranks));
    const auto all = told(address_, members);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->places.size(), ranks == most_places ? most_places : 0);
  }
}

TEST(BootstrapAddress, OneThatIsNoneIsANo) {
  for (const char* address : {"", "1", "::", "x:0123456789abcdef0123456789abcdef:127.0.0.1", "1:short:127.0.0.1",
                              "1:0123456789abcdef0123456789abcdef:host"})
    EXPECT_FALSE(everyone_is_here(address, {0, 0, 1}, milliseconds(50))) << address;
}

TEST(BootstrapAddress, NobodyThereIsANo) {
  const auto address = BootstrapServer::open()->address();  // the server is closed at once
  EXPECT_FALSE(everyone_is_here(address, {0, 0, 1}, milliseconds(50)));
}

}  // namespace
}  // namespace dunnage::transport
