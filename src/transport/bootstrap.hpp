// Whether every rank of a job that spans hosts has Dunnage. The ranks cannot ask each other: a
// message or a collective that a rank without Dunnage does not expect would hang the job. So each
// rank tells a server, which the tool starts beside the launcher. The server answers yes to all
// ranks or no to all.
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

#include "base/siphash.hpp"

namespace dunnage::transport {

/// What a rank says about itself.
struct Member {
  std::uint64_t world;  // all ranks of MPI_COMM_WORLD have this number in common; 0 if the launcher does not tell
  std::uint32_t rank, ranks;
  std::uint64_t settings = 0;  // ranks with different numbers here are not of one job
};

/// Tells the server at `address`, and returns its answer. Returns false, too, if the server cannot
/// be reached within `patience`, or does not answer within `patience_with_server`.
bool everyone_is_here(std::string_view address, const Member& self,
                      std::chrono::milliseconds patience = std::chrono::seconds(1),
                      std::chrono::milliseconds patience_with_server = std::chrono::seconds(30));

/// Not thread-safe: the server has a process to itself.
class BootstrapServer {
 public:
  /// Ranks that have not come so long after the first rank have no Dunnage.
  static constexpr std::chrono::milliseconds patience = std::chrono::seconds(1);

  /// Listens on a free port. Returns nothing if there is none, or no address.
  static std::optional<BootstrapServer> open();
  /// "PORT:KEY:ADDRESS,ADDRESS...", with all addresses of this host. The server ignores whoever
  /// does not know the key, and does not say it.
  const std::string& address() const { return address_; }
  /// Answers until there is something to read from the file `end`.
  void serve(int end);
  BootstrapServer(BootstrapServer&& other) noexcept;
  BootstrapServer& operator=(BootstrapServer&&) = delete;
  ~BootstrapServer();

 private:
  using Clock = std::chrono::steady_clock;
  /// A rank that waits, and what it is told.
  struct Waiting {
    int file;
    std::uint64_t yes, no;
  };
  struct Group {
    std::set<std::uint32_t> ranks;
    std::vector<Waiting> waiting;
    Clock::time_point until;  // when the answer becomes no; after a no, until when late ranks hear no
    bool refused = false, nameless = false;
  };
  /// A connection of which the server does not know yet who it is.
  struct Guest {
    int file;
    std::uint64_t challenge[2];
    std::vector<char> said;
    bool proved;  // it knows the key
    Clock::time_point until;
  };
  BootstrapServer(int listener, std::string address, const base::SipKey& key)
      : listener_(listener), address_(std::move(address)), key_(key) {}
  /// Returns whether the server need not listen to this guest any more.
  bool hear(Guest& guest);
  void enter(const Waiting& rank, const Member& member);
  void refuse(Group& group);
  void look_at_the_clock();

  int listener_;
  std::string address_;
  base::SipKey key_;
  std::vector<Guest> guests_;
  std::map<std::array<std::uint64_t, 3>, Group> groups_;  // by Member::world, Member::ranks and Member::settings
};

}  // namespace dunnage::transport
