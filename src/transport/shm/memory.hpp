// The shared memory of one process, made by it or mapped by another. It has no name in a file system, so nothing is left
// behind whatever happens to the process: others find it among the process' open files.
#pragma once

#include <memory>
#include <string>

#include "transport/shm/layout.hpp"

namespace dunnage::transport::shm {

/// Which job, and which rank of it.
struct Identity {
  std::uint64_t job;
  std::uint32_t rank, ranks;
};

class Memory {
 public:
  /// This process'. Null where there is no room.
  static std::unique_ptr<Memory> make(const Identity& self, bool brief = false);
  /// That of another rank, given its process and file; null where it is not to be found there.
  static std::unique_ptr<Memory> open(const Identity& other, std::uint32_t process, std::uint32_t file);
  /// That of another rank, among all processes of this user on this host; null where there is none, or more than one.
  static std::unique_ptr<Memory> find(const Identity& other);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  Greeting& greeting() const { return *static_cast<Greeting*>(base_); }
  Letter& letter(std::uint32_t rank) const { return reinterpret_cast<Letter*>(static_cast<char*>(base_) + letters_begin())[rank]; }
  char* data() const { return static_cast<char*>(base_) + data_begin_; }
  std::uint32_t file() const { return static_cast<std::uint32_t>(file_); }
  /// Gives back the memory, not the addresses, of a part of the data.
  void empty(std::uint64_t begin, std::uint64_t size) const;
  /// Whether the process is still there. Asks the kernel.
  bool alive() const;

 private:
  Memory(void* base, std::size_t data_begin, int file) : base_(base), data_begin_(data_begin), file_(file) {}
  static std::unique_ptr<Memory> map(int file, std::uint32_t ranks);

  void* base_;
  std::size_t data_begin_;
  int file_;  // -1: closed
  std::uint64_t inode_ = 0;  // by which the file is known: a program may close what it does not know and take the number
};

}  // namespace dunnage::transport::shm
