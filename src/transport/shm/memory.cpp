#include "transport/shm/memory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>

#include "transport/shm/file.hpp"

namespace dunnage::transport::shm {
namespace {

// The numbers that the file may have: some from each of these on. They are few, so that others need
// to look at few. Those below 64 come first: every process has room for so many files. The kernel
// makes room for more when a larger number is used. If the process has threads by then, and most
// MPIs start some, that takes 10 ms.
constexpr std::array first_files{60, 190};
constexpr int files = 4;

std::string name_of(const Identity& who) {
  return fmt::format("dunnage-{:x}-{:x}-{}-{}", Ticket::known_magic, who.job, who.rank, who.ranks);
}

/// Another number for an open file, one of those that others look at. Returns -1 if none is free.
int numbered(int file) {
  for (const int first : first_files) {
    const int number = fcntl(file, F_DUPFD_CLOEXEC, first);
    if (number < first + files) return number;
    close(number);
  }
  return -1;
}

}  // namespace

bool others_can_map() {
  rlimit addresses;
  return prctl(PR_GET_DUMPABLE) == 1 && getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur == RLIM_INFINITY;
}

std::unique_ptr<Memory> Memory::map(int file, std::uint32_t ranks) {
  const auto begin = data_begin(ranks);
  void* base = mmap(nullptr, begin + data_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) return nullptr;
  madvise(base, begin + data_size, MADV_DONTDUMP);
  return std::unique_ptr<Memory>(new Memory(base, begin, file));
}

std::unique_ptr<Memory> Memory::make(const Identity& self, bool brief) {
  const auto size = data_begin(self.ranks) + data_size;
  if (!may_grow_to(size)) return nullptr;
  const int made = make_memory_file(name_of(self).c_str());
  if (made < 0) return nullptr;
  const int file = numbered(made);
  close(made);
  if (file < 0) return nullptr;
  std::unique_ptr<Memory> memory;
  if (ftruncate(file, static_cast<off_t>(size)) == 0) memory = map(file, self.ranks);
  struct stat status;
  if (!memory || fstat(file, &status) != 0) {
    close(file);
    return nullptr;
  }
  memory->inode_ = status.st_ino;
  auto* header = new (memory->base_) SegmentHeader;
  header->process = static_cast<std::uint32_t>(getpid());
  header->rank = self.rank;
  header->ranks = self.ranks;
  header->brief = brief;
  header->takes_tokens = brief;
  std::atomic_ref(header->magic).store(Ticket::known_magic, std::memory_order_release);
  return memory;
}

std::unique_ptr<Memory> Memory::open(const Identity& other, std::uint32_t process, std::uint32_t file) {
  const auto link = link_to(process, file);
  if (!is_memory(link, name_of(other))) return nullptr;
  const int opened = ::open(link.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return nullptr;
  struct stat status;
  std::unique_ptr<Memory> memory;
  // Root could open the memory that another user has made under this name.
  if (fstat(opened, &status) == 0 && status.st_uid == geteuid() &&
      static_cast<std::size_t>(status.st_size) == data_begin(other.ranks) + data_size)
    memory = map(opened, other.ranks);
  close(opened);
  if (!memory) return nullptr;
  memory->file_ = -1;
  const auto& header = memory->header();
  // The memory may not be complete yet, or a fork may have given the file to another process.
  if (std::atomic_ref(const_cast<std::uint64_t&>(header.magic)).load(std::memory_order_acquire) !=
          Ticket::known_magic ||
      header.rank != other.rank || header.ranks != other.ranks || header.process != process)
    return nullptr;
  return memory;
}

std::unique_ptr<Memory> Memory::find(const Identity& other) {
  DIR* processes = opendir("/proc");
  if (!processes) return nullptr;
  std::unique_ptr<Memory> found;
  bool several = false;
  while (const auto* entry = readdir(processes)) {
    char* end = nullptr;
    const auto number = std::strtoul(entry->d_name, &end, 10);
    if (*end || number == 0) continue;
    for (const int first : first_files)
      for (int f = first; f < first + files; ++f)
        if (auto memory = open(other, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(f))) {
          several = several || found;
          found = std::move(memory);
        }
  }
  closedir(processes);
  return several ? nullptr : std::move(found);
}

Memory::~Memory() {
  munmap(base_, data_begin_ + data_size);
  struct stat status;
  if (file_ >= 0 && fstat(file_, &status) == 0 && status.st_ino == inode_) close(file_);
}

void Memory::empty(std::uint64_t begin, std::uint64_t size) const { madvise(data() + begin, size, MADV_REMOVE); }

bool Memory::alive() const {
  // A process that has ended stays in the kernel's table until its parent has waited for it. Its
  // state tells that it ended.
  char text[512] = "";
  const int file = ::open(fmt::format("/proc/{}/stat", header().process).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno != ENOENT;
  const auto length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  const std::string_view line(text, static_cast<std::size_t>(length));
  // The name stands in parentheses and may contain anything. The state follows the name. 17 fields
  // later stands the number of threads: the first thread may have ended before the others.
  auto at = line.rfind(')');
  if (at == line.npos || at + 2 >= line.size()) return true;
  const char state = line[at + 2];
  for (int field = 2; field < 20 && at != line.npos; ++field) at = line.find(' ', at + 1);
  const int threads = at == line.npos ? 0 : std::atoi(line.data() + at + 1);
  return (state != 'Z' && state != 'X') || threads > 1;
}

}  // namespace dunnage::transport::shm
