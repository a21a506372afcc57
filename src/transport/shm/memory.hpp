// The shared memory of one process, made by that process or mapped by another. The memory has no
// name in a file system, so nothing is left behind whatever happens to the process. Others find the
// memory among the process' open files.
#pragma once

#include <memory>
#include <string>

#include "transport/shm/layout.hpp"

namespace dunnage::transport::shm {

/// A rank of a job.
struct Identity {
  std::uint64_t job;
  std::uint32_t rank, ranks;
};

/// Whether other processes of this user can surely map this process' memory, and this one theirs.
bool others_can_map();

/// Thread-safe, except for what it contains: layout.hpp says who writes what.
class Memory {
 public:
  /// Makes this process' own memory. `brief`: this process looks at receives of the short tickets'
  /// lengths from now on, and takes tokens. Returns null if the kernel refuses the memory or its
  /// file.
  static std::unique_ptr<Memory> make(const Identity& self, bool brief = false);
  /// Maps the memory of another rank, given its process and file. Returns null if the memory is not
  /// there.
  static std::unique_ptr<Memory> open(const Identity& other, std::uint32_t process, std::uint32_t file);
  /// Looks for the memory of another rank among all processes of this user on this host, and maps
  /// it. Returns null if there is none, or more than one.
  static std::unique_ptr<Memory> find(const Identity& other);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  SegmentHeader& header() const { return *static_cast<SegmentHeader*>(base_); }
  Slot& slot(std::uint32_t number) const {
    return reinterpret_cast<Slot*>(static_cast<char*>(base_) + slots_begin())[number];
  }
  SlotDetails& details(std::uint32_t number) const {
    return reinterpret_cast<SlotDetails*>(static_cast<char*>(base_) + details_begin())[number];
  }
  Agreement& agreement(std::uint32_t number) const {
    return reinterpret_cast<Agreement*>(static_cast<char*>(base_) + agreements_begin())[number];
  }
  Choice& choice(std::uint32_t number) const {
    return reinterpret_cast<Choice*>(static_cast<char*>(base_) + choices_begin())[number];
  }
  Offer& offer(std::uint32_t number) const {
    return reinterpret_cast<Offer*>(static_cast<char*>(base_) + offers_begin())[number];
  }
  /// The mailbox in which that rank asks the owner of this memory.
  Mailbox& mailbox(std::uint32_t rank) const {
    return reinterpret_cast<Mailbox*>(static_cast<char*>(base_) + mailboxes_begin())[rank];
  }
  char* data() const { return static_cast<char*>(base_) + data_begin_; }
  /// The number of the file, if the memory is this process' own.
  std::uint32_t file() const { return static_cast<std::uint32_t>(file_); }
  /// Gives the memory of a part of the data back to the kernel. The addresses stay valid.
  void empty(std::uint64_t begin, std::uint64_t size) const;
  /// Whether the process that made the memory still runs. Asks the kernel, which takes some
  /// microseconds.
  bool alive() const;

 private:
  Memory(void* base, std::size_t data_begin, int file) : base_(base), data_begin_(data_begin), file_(file) {}
  static std::unique_ptr<Memory> map(int file, std::uint32_t ranks);

  void* base_;
  std::size_t data_begin_;
  int file_;                 // -1: closed
  std::uint64_t inode_ = 0;  // tells whether `file_` is still ours: a program may close files that it does not know
};

}  // namespace dunnage::transport::shm
