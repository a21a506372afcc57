#include "transport/bootstrap.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dunnage::transport {
namespace {

using Clock = std::chrono::steady_clock;
using base::Descriptor;

constexpr std::chrono::minutes long_after_answer{1};

/// How many milliseconds epoll_wait() may wait.
int epoll_timeout(Clock::time_point when) {
  if (when == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

/// The addresses by which other hosts may know this one.
std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const auto* i = all; i != nullptr; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text, sizeof text);
    found.emplace_back(text);
  }
  freeifaddrs(all);
  return found;
}

/// What all ranks of a job have said.
Told all_of(const std::map<std::uint32_t, Hello>& ranks) {
  std::vector<Member> members;
  for (const auto& [_, hello] : ranks) members.push_back(hello.member);
  return told_by(members);
}

}  // namespace

std::optional<BootstrapServer> BootstrapServer::open(std::uint64_t machine) {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {  // each rank needs one
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  base::SipKey key{};
  const bool drawn = draw(key.data(), sizeof key);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof at;
  Descriptor file(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), events(epoll_create1(EPOLL_CLOEXEC));
  const auto addresses = own_addresses();
  if (!file || !events || !drawn || addresses.empty() ||
      bind(file.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(file.get(), SOMAXCONN) != 0 ||
      getsockname(file.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return std::nullopt;
  BootstrapServer server(
      std::move(file), std::move(events),
      fmt::format("{}:{:016x}{:016x}:{}:{:x}", ntohs(at.sin_port), key[0], key[1], fmt::join(addresses, ","), machine),
      key);
  if (!server.watch(server.listener_.get())) return std::nullopt;
  return server;
}

bool BootstrapServer::watch(int file) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = file;
  return epoll_ctl(events_.get(), EPOLL_CTL_ADD, file, &event) == 0;
}

void BootstrapServer::serve(int end) {
  if (!watch(end)) return;
  std::array<epoll_event, 64> happened;
  for (;;) {
    const auto next = look_at_the_clock();
    const int n = epoll_wait(events_.get(), happened.data(), happened.size(), epoll_timeout(next));
    if (n < 0 && errno != EINTR) return;
    for (int i = 0; i < n; ++i) {
      const int file = happened[static_cast<std::size_t>(i)].data.fd;
      if (file == end) return;
      if (file == listener_.get())
        welcome();
      else
        hear(file);
    }
  }
}

void BootstrapServer::welcome() {
  Descriptor file(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!file || !watch(file.get())) return;
  const int number = file.get();
  guests_.insert_or_assign(number, Guest{std::move(file), {}, Clock::now() + patience, {}});
}

void BootstrapServer::hear(int file) {
  const auto at = guests_.find(file);
  if (at == guests_.end()) return;  // sent away since something happened
  auto& guest = at->second;
  if (!guest.hello) return hear_stranger(guest);
  char bytes[16];
  const auto n = recv(file, bytes, sizeof bytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) {
    if (!guest.answered) wait(guest);
    return;
  }
  if (!guest.answered) leave(guest);
  guests_.erase(file);
}

void BootstrapServer::hear_stranger(Guest& guest) {
  char bytes[sizeof(Hello)];
  const auto n = recv(guest.file.get(), bytes, sizeof(Hello) - guest.said.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) guest.said.insert(guest.said.end(), bytes, bytes + n);
  if (n > 0 && guest.said.size() < sizeof(Hello)) return;
  Hello hello;
  if (guest.said.size() == sizeof hello) {
    std::memcpy(&hello, guest.said.data(), sizeof hello);
    if (std::memcmp(hello.magic, hello_magic, sizeof hello.magic) == 0 && hello.proof == proof_of(key_, hello)) {
      guest.hello = hello;
      return enter(guest);
    }
  }
  guests_.erase(guest.file.get());  // not a rank
}

void BootstrapServer::enter(Guest& guest) {
  const auto& member = guest.hello->member;
  if (known_.contains(guest.hello->number)) {  // by another address
    guest.answered = true;
    guest.until = Clock::now() + long_after_answer;
    return;
  }
  auto& group = groups_[guest.job()];
  group.waiting.push_back(guest.file.get());
  const auto [at, first] = group.ranks.try_emplace(member.rank, *guest.hello);
  // A rank may speak to several addresses of this server, and then says one number. If a rank comes
  // twice, there are two jobs of the same size, and nobody can tell which ranks belong together.
  const bool twice = !first && at->second.number != guest.hello->number;
  if (member.rank >= member.ranks || twice || group.refused) {
    refuse(group, member.world == 0);
  } else if (group.ranks.size() == member.ranks) {
    const auto job = guest.job();
    say(group, true);
    groups_.erase(job);
  }
}

/// That guest waits for the answer, so the others should come soon.
void BootstrapServer::wait(const Guest& guest) {
  auto& group = groups_.at(guest.job());
  group.until = std::min(group.until, Clock::now() + patience);
}

/// A rank that hangs up before it has the answer ends, or believes that it is no.
void BootstrapServer::leave(const Guest& guest) {
  auto& group = groups_.at(guest.job());
  const auto is_that_rank = [&](int file) { return guests_.at(file).hello->number == guest.hello->number; };
  std::erase(group.waiting, guest.file.get());
  if (std::none_of(group.waiting.begin(), group.waiting.end(), is_that_rank))
    refuse(group, guest.hello->member.world == 0);
}

/// Answers all who wait.
void BootstrapServer::say(Group& group, bool yes) {
  const auto told = yes ? all_of(group.ranks) : Told();
  for (const int file : group.waiting) {
    auto& guest = guests_.at(file);
    const auto bytes = answer_of(proof_of(key_, *guest.hello, yes, told), told);
    (void)send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    guest.answered = true;
    guest.until = Clock::now() + long_after_answer;
    known_.insert(guest.hello->number);
  }
  group.waiting.clear();
}

void BootstrapServer::refuse(Group& group, bool nameless) {
  say(group, false);
  group.refused = true;
  // Some ranks of one job without a name and some of another could look like one complete job.
  group.until = nameless ? Clock::time_point::max() : Clock::now() + 5 * patience;
}

/// Returns when to look again.
BootstrapServer::Clock::time_point BootstrapServer::look_at_the_clock() {
  const auto now = Clock::now();
  std::erase_if(guests_, [&](const auto& entry) { return !entry.second.waits() && now >= entry.second.until; });
  std::erase_if(groups_, [&](const auto& entry) { return entry.second.refused && now >= entry.second.until; });
  for (auto& [job, group] : groups_)
    if (!group.refused && now >= group.until) refuse(group, job[0] == 0);
  auto next = Clock::time_point::max();
  for (const auto& [_, guest] : guests_)
    if (!guest.waits()) next = std::min(next, guest.until);
  for (const auto& [_, group] : groups_) next = std::min(next, group.until);
  return next;
}

}  // namespace dunnage::transport
