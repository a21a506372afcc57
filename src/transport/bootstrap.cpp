#include "transport/bootstrap.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

namespace dunnage::transport {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t half_key = 16, key_length = 2 * half_key;  // hexadecimal digits

/// What a rank sends to the server after the server has said the first half of the key. The server
/// says it first because an address may mean another server on another host. The magic tells the
/// version of the protocol between ranks, too.
struct Hello {
  char magic[8];
  char key[half_key];
  Member member;
};
constexpr char magic[] = "droster1";
constexpr char yes = 'y', no = 'n';

int milliseconds_until(Clock::time_point when) {
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

std::string random_key() {
  unsigned char bytes[key_length / 2];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
  std::string key;
  for (const auto byte : bytes) key += fmt::format("{:02x}", byte);
  return key;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

bool greets(int file, std::string_view key) {
  char said[half_key];
  return recv(file, said, sizeof said, 0) == sizeof said && key.starts_with({said, sizeof said});
}

/// A connection to the server, at the first of its addresses that answers. Returns -1 if none does.
int connect_to_any(const std::vector<std::string_view>& addresses, std::uint16_t port, std::string_view key,
                   Clock::time_point until) {
  std::vector<pollfd> tried;
  for (const auto address : addresses) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (inet_pton(AF_INET, std::string(address).c_str(), &to.sin_addr) != 1) continue;
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0) continue;
    if (connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS)
      tried.push_back({file, POLLIN, 0});
    else
      close(file);
  }
  int connected = -1;
  while (connected < 0 && !tried.empty() && Clock::now() < until) {
    if (poll(tried.data(), tried.size(), milliseconds_until(until)) <= 0) continue;
    for (auto& one : tried) {
      if (connected >= 0 || one.revents == 0) continue;
      if (greets(one.fd, key))
        connected = one.fd;
      else
        close(one.fd), one.fd = -1;
    }
    std::erase_if(tried, [](const pollfd& one) { return one.fd < 0; });
  }
  for (const auto& one : tried)
    if (one.fd != connected) close(one.fd);
  return connected;
}

}  // namespace

bool everyone_is_here(std::string_view address, const Member& self, std::chrono::milliseconds patience) {
  const auto parts = split(address, ':');
  Hello hello{};
  std::uint16_t port = 0;
  if (parts.size() != 3 || parts[1].size() != key_length ||
      std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), port).ec != std::errc{})
    return false;
  std::memcpy(hello.magic, magic, sizeof hello.magic);
  std::memcpy(hello.key, parts[1].data() + half_key, half_key);
  hello.member = self;
  const int file = connect_to_any(split(parts[2], ','), port, parts[1], Clock::now() + patience);
  if (file < 0) return false;
  char answer = no;
  // The hello is small enough to be sent at once. The answer has no time limit, because other ranks
  // may have heard yes.
  if (send(file, &hello, sizeof hello, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello)) {
    fcntl(file, F_SETFL, 0);
    while (recv(file, &answer, 1, 0) < 0 && errno == EINTR) {
    }
  }
  close(file);
  return answer == yes;
}

std::optional<BootstrapServer> BootstrapServer::open() {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {  // each rank needs one
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  const auto key = random_key();
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof at;
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto addresses = own_addresses();
  if (file < 0) return std::nullopt;
  if (key.empty() || addresses.empty() || bind(file, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      listen(file, SOMAXCONN) != 0 || getsockname(file, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    close(file);
    return std::nullopt;
  }
  return BootstrapServer(file, fmt::format("{}:{}:{}", ntohs(at.sin_port), key, fmt::join(addresses, ",")), key);
}

BootstrapServer::BootstrapServer(BootstrapServer&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)), address_(std::move(other.address_)), key_(std::move(other.key_)) {}

BootstrapServer::~BootstrapServer() {
  if (listener_ >= 0) close(listener_);
  for (const auto& guest : guests_) close(guest.file);
  for (const auto& [_, group] : groups_)
    for (const int file : group.waiting) close(file);
}

void BootstrapServer::serve(int end) {
  for (;;) {
    std::vector<pollfd> files{{end, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& guest : guests_) files.push_back({guest.file, POLLIN, 0});
    auto next = Clock::now() + std::chrono::minutes(1);
    for (const auto& guest : guests_) next = std::min(next, guest.until);
    for (const auto& [_, group] : groups_) next = std::min(next, group.until);
    poll(files.data(), files.size(), milliseconds_until(next));
    if (files[0].revents != 0) return;
    std::size_t i = 2;
    std::erase_if(guests_, [&](Guest& guest) { return files[i++].revents != 0 && hear(guest); });
    if (files[1].revents != 0)
      if (const int file = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); file >= 0) {
        send(file, key_.data(), half_key, MSG_NOSIGNAL);
        guests_.push_back({file, {}, Clock::now() + patience});
      }
    look_at_the_clock();
  }
}

bool BootstrapServer::hear(Guest& guest) {
  char bytes[sizeof(Hello)];
  const auto n = recv(guest.file, bytes, sizeof bytes - guest.said.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n > 0) guest.said.insert(guest.said.end(), bytes, bytes + n);
  if (n > 0 && guest.said.size() < sizeof bytes) return false;
  Hello hello{};
  if (guest.said.size() == sizeof hello) std::memcpy(&hello, guest.said.data(), sizeof hello);
  if (std::memcmp(hello.magic, magic, sizeof hello.magic) != 0 ||
      std::memcmp(hello.key, key_.data() + half_key, half_key) != 0)
    close(guest.file);  // not a rank
  else
    enter(guest.file, hello.member);
  return true;
}

void BootstrapServer::enter(int file, const Member& member) {
  const auto [at, first] = groups_.try_emplace({member.world, member.ranks});
  auto& group = at->second;
  if (first) group.until = Clock::now() + patience, group.nameless = member.world == 0;
  group.waiting.push_back(file);
  // If a rank comes twice, there are two jobs of the same size, and nobody can tell which ranks
  // belong together.
  const bool doubtful = member.rank >= member.ranks || !group.ranks.insert(member.rank).second;
  if (doubtful || group.refused) {
    refuse(group);
  } else if (group.ranks.size() == member.ranks) {
    for (const int one : group.waiting) {
      send(one, &yes, 1, MSG_NOSIGNAL);
      close(one);
    }
    groups_.erase(at);
  }
}

void BootstrapServer::refuse(Group& group) {
  for (const int one : group.waiting) {
    send(one, &no, 1, MSG_NOSIGNAL);
    close(one);
  }
  group.waiting.clear();
  group.refused = true;
  group.until = Clock::now() + 5 * patience;
  // Some ranks of one job without a name and some of another could look like one complete job.
  if (group.nameless) group.until = Clock::time_point::max();
}

void BootstrapServer::look_at_the_clock() {
  const auto now = Clock::now();
  std::erase_if(guests_, [&](const Guest& guest) {
    if (now < guest.until) return false;
    close(guest.file);
    return true;
  });
  for (auto& [_, group] : groups_)
    if (!group.refused && now >= group.until) refuse(group);
  std::erase_if(groups_, [&](const auto& entry) { return entry.second.refused && now >= entry.second.until; });
}

}  // namespace dunnage::transport
