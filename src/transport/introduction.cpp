#include "transport/introduction.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

namespace dunnage::transport {
namespace {

constexpr std::chrono::milliseconds moment{10};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

template <class Number>
bool number_from(std::string_view text, Number& number, int base = 10) {
  return std::from_chars(text.data(), text.data() + text.size(), number, base).ec == std::errc{};
}

bool loops_back(std::string_view address) { return address.starts_with("127."); }

/// How many milliseconds poll() may wait.
int poll_timeout(std::chrono::steady_clock::time_point when) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

Introduction::Introduction(std::string_view address, const Member& self, std::uint64_t machine) {
  const auto parts = split(address, ':');
  const auto key = parts.size() == 3 || parts.size() == 4 ? key_from(parts[1]) : std::nullopt;
  std::uint16_t port = 0;
  if (!key || !number_from(parts[0], port) || !draw(hello_.number.data(), sizeof hello_.number)) return;
  key_ = *key;
  std::memcpy(hello_.magic, hello_magic, sizeof hello_.magic);
  hello_.member = self;
  hello_.proof = proof_of(key_, hello_);
  // On the server's own machine one address is enough. On another one a loop leads to somebody
  // else.
  std::uint64_t there = 0;
  const bool told = parts.size() == 4 && machine != 0 && number_from(parts[3], there, 16);
  const auto call_some = [&](bool loop) {
    for (const auto one : split(parts[2], ','))
      if (loops_back(one) == loop) call(one, port);
  };
  if (!told || there == machine) call_some(true);
  if (!told || there != machine || calls_.empty()) call_some(false);
  const auto until = Clock::now() + moment;
  while (!calls_.empty() && !spoken() && Clock::now() < until) look(until);
}

void Introduction::call(std::string_view address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, std::string(address).c_str(), &to.sin_addr) != 1) return;
  base::Descriptor file(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file) return;
  const bool connected = connect(file.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  if (!connected && errno != EINPROGRESS) return;
  calls_.push_back({std::move(file), false, {}});
  if (connected) speak(calls_.back());
  if (!calls_.back().file) calls_.pop_back();
}

void Introduction::speak(Call& call) {
  if (send(call.file.get(), &hello_, sizeof hello_, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof hello_) ||
      (waiting_ && send(call.file.get(), &waits, sizeof waits, MSG_NOSIGNAL) != sizeof waits))
    call.file = {};
  call.spoken = true;
}

/// Takes what the other side has said. Whoever says something else than the server hears no more.
void Introduction::listen(Call& call) {
  char bytes[1024];
  const auto got = recv(call.file.get(), bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) call.heard.insert(call.heard.end(), bytes, bytes + got);
  const auto heard = got > 0 ? read(call.heard) : Heard::nothing;
  if (heard != Heard::nothing_yet) call.file = {};
  refused_ = refused_ || heard == Heard::no;
}

Introduction::Heard Introduction::read(const std::vector<char>& said) {
  auto heard = answer_from(said);
  if (!heard) return Heard::nothing_yet;
  if (heard->proof == proof_of(key_, hello_, false, heard->told)) return Heard::no;
  if (heard->proof != proof_of(key_, hello_, true, heard->told)) return Heard::nothing;
  told_ = std::move(heard->told);
  return Heard::yes;
}

bool Introduction::spoken() const {
  return std::any_of(calls_.begin(), calls_.end(), [](const Call& call) { return call.spoken; });
}

/// Waits until something happens, and does what can be done then.
void Introduction::look(Clock::time_point until) {
  std::vector<pollfd> files;
  for (const auto& call : calls_)
    files.push_back({call.file.get(), static_cast<short>(call.spoken ? POLLIN : POLLOUT), 0});
  if (poll(files.data(), files.size(), poll_timeout(until)) <= 0) return;
  for (std::size_t i = 0; i < calls_.size() && !told_; ++i) {
    if (files[i].revents == 0) continue;
    if (calls_[i].spoken)
      listen(calls_[i]);
    else
      speak(calls_[i]);
  }
  std::erase_if(calls_, [](const Call& call) { return !call.file; });
}

std::optional<Told> Introduction::answer(std::chrono::milliseconds patience,
                                         std::chrono::milliseconds patience_with_server) {
  const auto begin = Clock::now();
  look(begin);  // most often the answer has come
  waiting_ = true;
  for (const auto& call : calls_)  // whether the connection is still there is noticed later
    if (!told_ && call.spoken) (void)send(call.file.get(), &waits, sizeof waits, MSG_NOSIGNAL);
  const auto until = [&] { return begin + (spoken() ? patience_with_server : patience); };
  while (!told_ && !refused_ && !calls_.empty() && Clock::now() < until()) look(until());
  calls_.clear();
  return std::exchange(told_, std::nullopt);
}

}  // namespace dunnage::transport
