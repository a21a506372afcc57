#include "transport/bootstrap.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace dunnage::transport {
namespace {

using Clock = std::chrono::steady_clock;
using base::SipKey;
constexpr std::size_t key_length = 2 * sizeof(SipKey);  // hexadecimal digits

// Both sides prove that they know the key, and nobody says it: an address may mean another server
// on another host, and anybody may call.
//   server  a challenge
//   rank    a Hello, with a challenge of its own and a proof
//   server  a proof
//   rank    `enter`, to the first server that has proved itself
//   server  the answer, as a proof
using Challenge = std::uint64_t[2];
struct Hello {
  char magic[8];  // tells the version of the protocol between ranks, too
  Challenge challenge;
  Member member;
  std::uint64_t proof;
};
constexpr char magic[] = "droster3";
constexpr char enter_now = 'e';
enum class Proof : char { rank = 'r', server = 's', yes = 'y', no = 'n' };

/// What only those can say who know the key, and only once.
std::uint64_t proof_of(Proof what, const SipKey& key, const Challenge& of_server, const Hello& hello) {
  std::string all(1, static_cast<char>(what));
  const auto add = [&](const auto& value) { all.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(of_server);
  add(hello.challenge);
  add(hello.member.world);
  add(hello.member.rank);
  add(hello.member.ranks);
  add(hello.member.settings);
  return base::siphash(key, all);
}

bool draw(void* bytes, std::size_t size) { return getrandom(bytes, size, 0) == static_cast<ssize_t>(size); }

/// Nothing if these are no hexadecimal digits of a key.
std::optional<SipKey> key_from(std::string_view digits) {
  if (digits.size() != key_length) return std::nullopt;
  SipKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto* begin = digits.data() + i * key_length / key.size();
    const auto* end = begin + key_length / key.size();
    if (std::from_chars(begin, end, key[i], 16).ptr != end) return std::nullopt;
  }
  return key;
}

/// Reads a value that the other side has sent whole. False if it has not come.
template <class Value>
bool get(int file, Value& value) {
  return recv(file, &value, sizeof value, 0) == static_cast<ssize_t>(sizeof value);
}
template <class Value>
bool put(int file, const Value& value) {
  return send(file, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
}

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

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

/// A conversation of a rank with somebody who may be the server.
class Conversation {
 public:
  Conversation(const SipKey& key, const Member& self) : key_(key) {
    std::memcpy(hello_.magic, magic, sizeof hello_.magic);
    hello_.member = self;
  }
  /// The other side has said something. False if it is not the server.
  bool hear(int file) {
    if (!greeted_) {
      greeted_ = true;
      if (!get(file, of_server_) || !draw(hello_.challenge, sizeof hello_.challenge)) return false;
      hello_.proof = proof(Proof::rank);
      return put(file, hello_);
    }
    std::uint64_t said = 0;
    return proved_ = get(file, said) && said == proof(Proof::server);
  }
  /// Whether the other side is the server.
  bool proved() const { return proved_; }
  std::uint64_t proof(Proof what) const { return proof_of(what, key_, of_server_, hello_); }

 private:
  const SipKey& key_;
  Challenge of_server_{};
  Hello hello_{};
  bool greeted_ = false, proved_ = false;
};

/// A connection to the server, at the first of its addresses that answers, and what was said there.
/// The connection is -1 if none answers.
std::pair<int, Conversation> connect_to_any(const std::vector<std::string_view>& addresses, std::uint16_t port,
                                            const Conversation& beginning, Clock::time_point until) {
  std::vector<pollfd> tried;
  std::map<int, Conversation> conversations;
  for (const auto address : addresses) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (inet_pton(AF_INET, std::string(address).c_str(), &to.sin_addr) != 1) continue;
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0) continue;
    if (connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS) {
      tried.push_back({file, POLLIN, 0});
      conversations.emplace(file, beginning);
    } else
      close(file);
  }
  int connected = -1;
  while (connected < 0 && !tried.empty() && Clock::now() < until) {
    if (poll(tried.data(), tried.size(), milliseconds_until(until)) <= 0) continue;
    for (auto& one : tried) {
      if (connected >= 0 || one.revents == 0) continue;
      auto& conversation = conversations.at(one.fd);
      if (!conversation.hear(one.fd))
        close(one.fd), one.fd = -1;
      else if (conversation.proved())
        connected = one.fd;
    }
    std::erase_if(tried, [](const pollfd& one) { return one.fd < 0; });
  }
  for (const auto& one : tried)
    if (one.fd != connected) close(one.fd);
  return {connected, connected < 0 ? beginning : conversations.at(connected)};
}

}  // namespace

bool everyone_is_here(std::string_view address, const Member& self, std::chrono::milliseconds patience,
                      std::chrono::milliseconds patience_with_server) {
  const auto parts = split(address, ':');
  const auto key = parts.size() == 3 ? key_from(parts[1]) : std::nullopt;
  std::uint16_t port = 0;
  if (!key || std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), port).ec != std::errc{}) return false;
  const auto [file, conversation] =
      connect_to_any(split(parts[2], ','), port, Conversation(*key, self), Clock::now() + patience);
  if (file < 0) return false;
  std::uint64_t answer = 0;
  // Other ranks may have heard yes, so an answer is waited for much longer than a server needs that
  // is at work.
  if (put(file, enter_now)) {
    const auto until = Clock::now() + patience_with_server;
    pollfd said{file, POLLIN, 0};
    while (poll(&said, 1, milliseconds_until(until)) <= 0 && Clock::now() < until) {
    }
    if (!get(file, answer)) answer = 0;
  }
  close(file);
  return answer == conversation.proof(Proof::yes);
}

std::optional<BootstrapServer> BootstrapServer::open() {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {  // each rank needs one
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  SipKey key{};
  const bool drawn = draw(key.data(), sizeof key);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof at;
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto addresses = own_addresses();
  if (file < 0) return std::nullopt;
  if (!drawn || addresses.empty() || bind(file, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      listen(file, SOMAXCONN) != 0 || getsockname(file, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    close(file);
    return std::nullopt;
  }
  return BootstrapServer(
      file, fmt::format("{}:{:016x}{:016x}:{}", ntohs(at.sin_port), key[0], key[1], fmt::join(addresses, ",")), key);
}

BootstrapServer::BootstrapServer(BootstrapServer&& other) noexcept
    : listener_(std::exchange(other.listener_, -1)), address_(std::move(other.address_)), key_(other.key_) {}

BootstrapServer::~BootstrapServer() {
  if (listener_ >= 0) close(listener_);
  for (const auto& guest : guests_) close(guest.file);
  for (const auto& [_, group] : groups_)
    for (const auto& one : group.waiting) close(one.file);
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
        Guest guest{file, {}, {}, false, Clock::now() + patience};
        if (draw(guest.challenge, sizeof guest.challenge) && put(file, guest.challenge))
          guests_.push_back(std::move(guest));
        else
          close(file);
      }
    look_at_the_clock();
  }
}

bool BootstrapServer::hear(Guest& guest) {
  char bytes[sizeof(Hello) + sizeof enter_now];
  const auto whole = sizeof(Hello) + (guest.proved ? sizeof enter_now : 0);
  const auto n = recv(guest.file, bytes, whole - guest.said.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n > 0) guest.said.insert(guest.said.end(), bytes, bytes + n);
  if (n > 0 && guest.said.size() < whole) return false;
  Hello hello{};
  if (guest.said.size() >= sizeof hello) std::memcpy(&hello, guest.said.data(), sizeof hello);
  const auto proof = [&](Proof what) { return proof_of(what, key_, guest.challenge, hello); };
  if (n > 0 && !guest.proved) {
    guest.proved = std::memcmp(hello.magic, magic, sizeof hello.magic) == 0 && hello.proof == proof(Proof::rank) &&
                   put(guest.file, proof(Proof::server));
    if (guest.proved) return false;
  }
  if (n > 0 && guest.proved)
    enter({guest.file, proof(Proof::yes), proof(Proof::no)}, hello.member);
  else
    close(guest.file);  // not a rank, or one that has found the server at another address
  return true;
}

void BootstrapServer::enter(const Waiting& rank, const Member& member) {
  const auto [at, first] = groups_.try_emplace({member.world, member.ranks, member.settings});
  auto& group = at->second;
  if (first) group.until = Clock::now() + patience, group.nameless = member.world == 0;
  group.waiting.push_back(rank);
  // If a rank comes twice, there are two jobs of the same size, and nobody can tell which ranks
  // belong together.
  const bool doubtful = member.rank >= member.ranks || !group.ranks.insert(member.rank).second;
  if (doubtful || group.refused) {
    refuse(group);
  } else if (group.ranks.size() == member.ranks) {
    for (const auto& one : group.waiting) {
      put(one.file, one.yes);
      close(one.file);
    }
    groups_.erase(at);
  }
}

void BootstrapServer::refuse(Group& group) {
  for (const auto& one : group.waiting) {
    put(one.file, one.no);
    close(one.file);
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
