// The server runs in a thread, and each rank in another. The tests wait for answers, and measure no
// times.
#include "transport/bootstrap.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

namespace dunnage::transport {
namespace {

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
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  ASSERT_EQ(send(file, "GET / HTTP/1.0", 14, 0), 14);  // then nothing more is sent
  const auto key = address_.find(':') + 20;
  auto wrong = address_;
  wrong[key] = wrong[key] == '0' ? '1' : '0';
  EXPECT_FALSE(everyone_is_here(wrong, {7, 0, 1}, std::chrono::milliseconds(50)));
  EXPECT_EQ(ask({{7, 0, 2}, {7, 1, 2}}), std::vector<bool>(2, true));
  close(file);
}

TEST_F(Bootstrap, NobodyIsToldTheKey) {
  const auto key = address_.substr(address_.find(':') + 1, 32);
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  std::string said(64, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(recv(file, said.data(), said.size(), 0), 0)));
  close(file);
  EXPECT_FALSE(said.empty());
  EXPECT_EQ(said.find(key.substr(0, 4)), said.npos);
  for (std::size_t i = 0; i < key.size(); i += 16) {
    const auto half = std::stoull(key.substr(i, 16), nullptr, 16);
    EXPECT_EQ(said.find({reinterpret_cast<const char*>(&half), sizeof half}), said.npos);
  }
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
      while (recv(guest, bytes, sizeof bytes, 0) > 0) {
      }
      close(guest);
    });
  }
  ~Impostor() {
    thread_.join();
    close(listener_);
  }
  std::string address() const { return port_ + ":0123456789abcdef0123456789abcdef:127.0.0.1"; }

 private:
  const int listener_;
  std::string port_;
  std::thread thread_;
};

TEST(BootstrapAddress, WhoDoesNotKnowTheKeyIsNoServer) {
  for (const auto& says : {std::string(), std::string(16, 'x'), std::string(100, 'y')}) {
    const Impostor impostor(says);
    EXPECT_FALSE(everyone_is_here(impostor.address(), {7, 0, 1}, std::chrono::milliseconds(100)));
  }
}

// A server that has not answered yet is no other for a rank than one that never answers.
TEST_F(Bootstrap, AnAnswerIsNotWaitedForForEver) {
  EXPECT_FALSE(everyone_is_here(address_, {7, 0, 2}, std::chrono::seconds(5), std::chrono::milliseconds(1)));
}

TEST(BootstrapAddress, OneThatIsNoneIsANo) {
  for (const char* address : {"", "1", "::", "x:0123456789abcdef0123456789abcdef:127.0.0.1", "1:short:127.0.0.1",
                              "1:0123456789abcdef0123456789abcdef:host"})
    EXPECT_FALSE(everyone_is_here(address, {0, 0, 1}, std::chrono::milliseconds(50))) << address;
}

TEST(BootstrapAddress, NobodyThereIsANo) {
  const auto address = BootstrapServer::open()->address();  // the server is closed at once
  EXPECT_FALSE(everyone_is_here(address, {0, 0, 1}, std::chrono::milliseconds(50)));
}

}  // namespace
}  // namespace dunnage::transport
