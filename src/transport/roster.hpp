// Whether every rank of a job that spans hosts has Dunnage. The ranks cannot ask each other: a message or a collective to one that
// does not know of it would hang the job. So each tells a server, which the tool starts beside the launcher, and which
// answers yes to all or no to all.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dunnage::transport {

/// What a rank says of itself.
struct Member {
  std::uint64_t world;  // the same for all ranks of MPI_COMM_WORLD, as far as the launcher tells; else 0
  std::uint32_t rank, ranks;
};

/// Tells the server at `address` and waits for its answer; false as well where it is not to be reached within `patience`.
bool everyone_is_here(std::string_view address, const Member& self, std::chrono::milliseconds patience = std::chrono::seconds(1));

/// Not thread-safe: it has a process to itself.
class RosterServer {
 public:
  /// Ranks that have not come so long after the first one have no Dunnage.
  static constexpr std::chrono::milliseconds patience = std::chrono::seconds(1);

  /// Listens on a free port; nothing where that cannot be.
  static std::optional<RosterServer> open();
  /// "PORT:KEY:ADDRESS,ADDRESS...", all addresses of this host. Only who knows the key is heard.
  const std::string& address() const { return address_; }
  /// Answers until `end` can be read.
  void serve(int end);
  RosterServer(RosterServer&& other) noexcept;
  RosterServer& operator=(RosterServer&&) = delete;
  ~RosterServer();

 private:
  using Clock = std::chrono::steady_clock;
  struct Group {
    std::set<std::uint32_t> ranks;
    std::vector<int> waiting;
    Clock::time_point until;  // for a no; after it, until when late ones hear the same
    bool refused = false, nameless = false;
  };
  struct Visitor {
    int file;
    std::vector<char> said;
    Clock::time_point until;
  };
  RosterServer(int listener, std::string address, std::string key) : listener_(listener), address_(std::move(address)), key_(std::move(key)) {}
  /// Whether the visitor is done with, one way or another.
  bool hear(Visitor& visitor);
  void enter(int file, const Member& member);
  void refuse(Group& group);
  void look_at_the_clock();

  int listener_;
  std::string address_, key_;
  std::vector<Visitor> visitors_;
  std::map<std::array<std::uint64_t, 2>, Group> groups_;  // by world and ranks
};

}  // namespace dunnage::transport
