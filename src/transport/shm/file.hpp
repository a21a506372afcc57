// Files in memory that other processes of the host map: how large they may grow, and how they are
// found under /proc.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace dunnage::transport::shm {

/// Whether a file may grow to `size` bytes. The kernel ends a process that grows a file beyond the
/// limit.
inline bool may_grow_to(std::size_t size) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

/// Makes such a file, which only processes of this user can open. Returns -1 if that fails.
inline int make_memory_file(const char* name) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0 || fchmod(file, 0600) == 0) return file;  // the kernel makes it for everybody
  close(file);
  return -1;
}

/// The path of a process' open file.
template <class Process, class File>
std::string link_to(Process process, File file) {
  return fmt::format("/proc/{}/fd/{}", process, file);
}

/// Whether such a path leads to memory that was made under that name.
inline bool is_memory(const std::string& link, std::string_view name) {
  char target[256];
  const auto length = readlink(link.c_str(), target, sizeof target);
  return length > 0 &&
         std::string_view(target, static_cast<std::size_t>(length)) == fmt::format("/memfd:{} (deleted)", name);
}

}  // namespace dunnage::transport::shm
