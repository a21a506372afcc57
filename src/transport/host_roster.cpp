#include "transport/host_roster.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

namespace dunnage::transport {
namespace {

using base::Descriptor;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t no = 0, yes = 1;  // the system tells who answers, so the answer needs no proof

/// An abstract address: the name disappears when its socket is closed.
struct Address {
  explicit Address(std::uint64_t host) {
    const auto name = fmt::format("dunnage-{}-{:016x}", std::string_view(hello_magic), host);
    std::memcpy(un.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
  sockaddr_un un{AF_UNIX, {}};
  socklen_t size = 0;
};

Descriptor new_socket() { return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

/// Ends a connection, or a listener, also if a child of this process has a copy of it.
void end(Descriptor& file) {
  if (file) shutdown(file.get(), SHUT_RDWR);
  file = Descriptor();
}

bool is_ours(const Descriptor& connection) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == geteuid();
}

constexpr auto forever = Clock::time_point::max();

/// Returns whether there is something to read, or the other side has hung up.
bool readable(const Descriptor& file, Clock::time_point until) {
  for (;;) {
    const auto left = until == forever
                          ? milliseconds(-1)
                          : std::max(std::chrono::ceil<milliseconds>(until - Clock::now()), milliseconds(0));
    pollfd one{file.get(), POLLIN, 0};
    const int n = poll(&one, 1, static_cast<int>(left.count()));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

bool tell(const Descriptor& connection, const void* bytes, std::size_t size) {
  return send(connection.get(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

/// The other ranks of a roster, as the keeper meets them.
class Guests {
 public:
  /// Takes those who call until `enough` have connected, and those who are there by then. Returns
  /// whether `enough` have connected and no more. Someone who is no rank of this job may call too.
  bool welcome(const Descriptor& listener, std::size_t enough, Clock::time_point until) {
    constexpr int most_strangers = 64;
    for (int strangers = 0; strangers < most_strangers && connections_.size() <= enough;) {
      const bool waits = connections_.size() < enough;
      if (!readable(listener, waits ? until : Clock::now())) break;
      Descriptor one(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!one && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) return false;
      if (one && is_ours(one))
        connections_.push_back(std::move(one));
      else
        ++strangers;
    }
    return connections_.size() == enough;
  }
  /// What they tell. Returns nothing if one does not, because it takes no part or is not a rank.
  std::optional<std::vector<Member>> members(Clock::time_point until) const {
    std::vector<Member> all;
    for (const auto& one : connections_) {
      Member member;
      if (!readable(one, until) || recv(one.get(), &member, sizeof member, 0) != static_cast<ssize_t>(sizeof member))
        return std::nullopt;
      all.push_back(member);
    }
    return all;
  }
  void answer(const std::string& bytes) const {
    for (const auto& one : connections_) tell(one, bytes.data(), bytes.size());
  }

 private:
  std::vector<Descriptor> connections_;
};

/// `members`: sorted by rank.
bool are_all(const std::vector<Member>& members) {
  const auto& first = members.front();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& member = members[i];
    if (member.rank != i || member.ranks != members.size() || member.world != first.world ||
        member.settings != first.settings)
      return false;
  }
  return true;
}

}  // namespace

std::optional<HostRoster> HostRoster::join(std::uint64_t host, std::uint32_t ranks) {
  if (ranks > most_places) return std::nullopt;
  const Address address(host);
  // A keeper has the name just before it listens, and just after it has stopped.
  for (int tries = 0; tries < 20; std::this_thread::sleep_for(std::chrono::microseconds(50) * ++tries)) {
    auto socket = new_socket();
    if (!socket) return std::nullopt;
    const bool keeps = bind(socket.get(), address.get(), address.size) == 0;
    const bool connected = !keeps && connect(socket.get(), address.get(), address.size) == 0;
    if (!keeps && !connected && errno == ECONNREFUSED) continue;
    const bool well = keeps ? listen(socket.get(), static_cast<int>(ranks)) == 0 : connected && is_ours(socket);
    return well ? std::optional(HostRoster(std::move(socket), keeps)) : std::nullopt;
  }
  return std::nullopt;
}

HostRoster::~HostRoster() { end(socket_); }

std::optional<Told> HostRoster::answer(const Member& self, const RosterPatience& patience) {
  if (keeps_) return decide(self, patience);
  std::array<char, sizeof(Answer) + most_places * sizeof(Place)> bytes;
  if (!tell(socket_, &self, sizeof self)) return std::nullopt;
  readable(socket_, forever);
  const auto size = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return std::nullopt;
  auto heard = answer_from({bytes.data(), static_cast<std::size_t>(size)});
  return heard && heard->proof == yes ? std::optional(std::move(heard->told)) : std::nullopt;
}

std::optional<Told> HostRoster::decide(const Member& self, const RosterPatience& patience) {
  Guests guests;
  std::optional<std::vector<Member>> members;
  if (guests.welcome(socket_, self.ranks - 1, Clock::now() + patience.connected))
    members = guests.members(Clock::now() + patience.told);
  end(socket_);
  if (members) {
    members->push_back(self);
    std::ranges::sort(*members, {}, &Member::rank);
  }
  const bool all = members && are_all(*members);
  const auto told = all ? told_by(*members) : Told();
  guests.answer(answer_of(all ? yes : no, told));
  return all ? std::optional(told) : std::nullopt;
}

}  // namespace dunnage::transport
