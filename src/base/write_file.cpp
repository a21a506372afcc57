#include "base/write_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "base/descriptor.hpp"

namespace dunnage::base {
namespace {

sigset_t sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

bool pending() {
  sigset_t set;
  return sigpending(&set) == 0 && sigismember(&set, SIGPIPE) == 1;
}

bool ours(const struct stat& about) { return about.st_uid == geteuid() || about.st_uid == 0; }

/// Whether a path is a symbolic link that other users have not made and cannot replace.
bool trusted_link(const std::string& path) {
  const auto end = path.rfind('/');
  const auto folder = end == path.npos ? std::string(".") : path.substr(0, end + 1);
  struct stat link, around;
  if (lstat(path.c_str(), &link) != 0 || stat(folder.c_str(), &around) != 0) return false;
  const bool others_write = around.st_mode & (S_IWGRP | S_IWOTH);
  return ours(link) && ours(around) && (!others_write || (around.st_mode & S_ISVTX));
}

/// Opens a file to be written from its beginning. Returns -1 if that fails.
int open_to_write(const std::string& path) {
  // Opened like this, a pipe without a reader is an error at once.
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int file = ::open(path.c_str(), flags | O_NOFOLLOW, 0666);
  if (file >= 0 || errno != ELOOP || !trusted_link(path)) return file;
  return ::open(path.c_str(), flags, 0666);
}

}  // namespace

NoSigpipe::NoSigpipe() {
  if (pending()) return;  // the program blocks the signal itself
  const auto set = sigpipe();
  blocked_ = pthread_sigmask(SIG_BLOCK, &set, &before_) == 0;
}

NoSigpipe::~NoSigpipe() {
  if (!blocked_) return;
  const int error = errno;
  const auto set = sigpipe();
  const timespec at_once{};
  while (pending() && sigtimedwait(&set, nullptr, &at_once) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

bool write_file(const std::string& path, std::string_view text, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const NoSigpipe guard;
  Descriptor file(open_to_write(path));
  if (!file) return false;
  const auto end = Clock::now() + patience;
  while (!text.empty()) {
    const auto written = write(file.get(), text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (errno != EAGAIN || left <= 0) return false;
    pollfd ready{file.get(), POLLOUT, 0};
    poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 1000)));
  }
  return close(file.release()) == 0;  // some file systems tell only now
}

}  // namespace dunnage::base
