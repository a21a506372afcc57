// Whether every rank of a job that spans hosts has Dunnage. The ranks cannot ask each other: a
// message or a collective that a rank without Dunnage does not expect would hang the job. So each
// rank tells a server (introduction.hpp), which the tool starts beside the launcher. The server
// answers yes to all ranks or no to all.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/siphash.hpp"
#include "transport/bootstrap_protocol.hpp"

namespace dunnage::transport {

/// Not thread-safe: the server has a process to itself.
class BootstrapServer {
 public:
  /// Ranks that have not come so long after the first rank waits for the answer have no Dunnage.
  static constexpr std::chrono::milliseconds patience = std::chrono::seconds(1);

  /// Listens on a free port. Returns nothing if there is none, or no address. `machine` tells the
  /// kernel that this process runs on from others.
  static std::optional<BootstrapServer> open(std::uint64_t machine = 0);
  /// "PORT:KEY:ADDRESS,ADDRESS...:MACHINE", with all addresses of this host. The server ignores
  /// whoever does not know the key, and does not say it.
  const std::string& address() const { return address_; }
  /// Answers until there is something to read from the file `end`.
  void serve(int end);

 private:
  using Clock = std::chrono::steady_clock;
  using Job = std::array<std::uint64_t, 3>;  // Member::world, Member::ranks and Member::settings
  /// A connection. At first the server does not know who it is. Who has the answer hangs up. If the
  /// server did, what the rank says meanwhile could make the rank's kernel throw away the answer.
  struct Guest {
    base::Descriptor file;
    std::vector<char> said;
    Clock::time_point until;  // a guest that does not wait is sent away
    std::optional<Hello> hello;
    bool answered = false;
    bool waits() const { return hello && !answered; }
    Job job() const { return {hello->member.world, hello->member.ranks, hello->member.settings}; }
  };
  struct Group {
    std::map<std::uint32_t, Hello> ranks;
    std::vector<int> waiting;  // the files of the guests
    // When the answer becomes no. After a no, until when late ranks hear no.
    Clock::time_point until = Clock::time_point::max();
    bool refused = false;
  };
  BootstrapServer(base::Descriptor listener, base::Descriptor events, std::string address, const base::SipKey& key)
      : listener_(std::move(listener)), events_(std::move(events)), address_(std::move(address)), key_(key) {}
  bool watch(int file);
  void welcome();
  void hear(int file);
  void hear_stranger(Guest& guest);
  void enter(Guest& guest);
  void leave(const Guest& guest);
  void wait(const Guest& guest);
  void say(Group& group, bool yes);
  void refuse(Group& group, bool nameless);
  Clock::time_point look_at_the_clock();

  base::Descriptor listener_, events_;
  std::string address_;
  base::SipKey key_;
  std::map<int, Guest> guests_;  // by their files
  std::map<Job, Group> groups_;
  std::set<std::array<std::uint64_t, 2>> known_;  // the numbers of all who have been answered
};

}  // namespace dunnage::transport
