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

constexpr std::uint64_t no = 0, yes = 1;  // the kernel tells whose the answer is, so it needs no proof

/// In the namespace without files, where a name ends with its socket.
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

bool is_ours(const Descriptor& connection) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == geteuid();
}

/// Returns whether there is something to read, or nothing will come.
bool readable(const Descriptor& file, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    pollfd one{file.get(), POLLIN, 0};
    const int n = poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

bool tell(const Descriptor& keeper, const Member& self) {
  return send(keeper.get(), &self, sizeof self, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof self);
}

/// The keeper's connection to another rank.
struct Guest {
  Descriptor connection;
  Member member;
};

/// Whoever has called. Returns nothing if that is no rank.
std::optional<Guest> welcome(const Descriptor& listener) {
  Descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  Member member;
  // A rank tells right after it has connected.
  if (!connection || !is_ours(connection) || !readable(connection, Clock::now() + std::chrono::seconds(1)) ||
      recv(connection.get(), &member, sizeof member, 0) != static_cast<ssize_t>(sizeof member))
    return std::nullopt;
  return Guest{std::move(connection), member};
}

/// A rank that hangs up before it has the answer ends, or takes no part.
bool is_there(const Guest& guest) { return !readable(guest.connection, Clock::now()); }

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

std::optional<HostRoster> HostRoster::join(const Member& self) {
  if (self.ranks > most_places) return std::nullopt;
  const Address address(self.host);
  // A keeper has a name a moment before it can be called, and a moment after.
  for (int tries = 0; tries < 20; ++tries, std::this_thread::sleep_for(std::chrono::microseconds(50))) {
    auto socket = new_socket();
    if (!socket) return std::nullopt;
    const bool keeps = bind(socket.get(), address.get(), address.size) == 0;
    const bool connected = !keeps && connect(socket.get(), address.get(), address.size) == 0;
    if (!keeps && !connected && errno == ECONNREFUSED) continue;
    const bool well = keeps ? listen(socket.get(), static_cast<int>(self.ranks)) == 0
                            : connected && is_ours(socket) && tell(socket, self);
    return well ? std::optional(HostRoster(self, std::move(socket), keeps)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Told> HostRoster::answer(milliseconds for_ranks, milliseconds for_keeper) {
  if (keeps_) return decide(for_ranks);
  std::array<char, sizeof(Answer) + most_places * sizeof(Place)> bytes;
  if (!readable(socket_, Clock::now() + for_keeper)) return std::nullopt;
  const auto size = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return std::nullopt;
  auto heard = answer_from({bytes.data(), static_cast<std::size_t>(size)});
  return heard && heard->proof == yes ? std::optional(std::move(heard->told)) : std::nullopt;
}

std::optional<Told> HostRoster::decide(milliseconds patience) {
  const auto until = Clock::now() + patience;
  std::vector<Guest> guests;
  std::vector<Member> members{self_};
  while (members.size() < self_.ranks && readable(socket_, until)) {
    auto guest = welcome(socket_);
    if (!guest) continue;
    members.push_back(guest->member);
    guests.push_back(std::move(*guest));
  }
  socket_ = {};
  std::ranges::sort(members, {}, &Member::rank);
  const bool all = are_all(members) && std::ranges::all_of(guests, is_there);
  const auto told = all ? told_by(members) : Told();
  const auto bytes = answer_of(all ? yes : no, told);
  for (const auto& guest : guests) (void)send(guest.connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return all ? std::optional(told) : std::nullopt;
}

}  // namespace dunnage::transport
