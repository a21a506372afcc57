// The data of one message in a user's buffer, as a stream of packed bytes.
//
// A buffer is one of four kinds: contiguous host memory, host memory that a program walks, memory
// that a Packer reaches (a GPU's memory, or a layout that only the MPI can pack), or empty.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "pack/cpu/program.hpp"

namespace dunnage::pack::gpu {
struct Described;
}

namespace dunnage::memory {

/// Packs and unpacks data that the host does not reach by itself. Calls may throw what the kind of
/// memory throws, for example device::Error.
class Packer {
 public:
  virtual ~Packer() = default;
  /// Packed bytes.
  virtual std::int64_t size() const = 0;
  virtual void pack(char* to, std::int64_t begin, std::int64_t end) const = 0;
  virtual void unpack(const char* from, std::int64_t begin, std::int64_t end) const = 0;
  /// What kernels are told about data in a GPU's memory. Null for other data.
  virtual const pack::gpu::Described* device() const { return nullptr; }
  /// Whether each call packs or unpacks all bytes, whatever range it is asked for.
  virtual bool whole() const { return false; }
  /// Tells that the first `end` bytes have come to the buffer by another way.
  virtual void settle(std::int64_t end) const { (void)end; }
  /// Tells that the next unpack() begins at byte 0 again.
  virtual void restart() const {}
  /// Ends a series of unpack() calls that went through the stream in order.
  virtual void finish() const {}
};

/// Copies share the program or the packer, which live as long as a copy does. The user's memory is
/// not owned. Thread-safe for different ranges.
class Buffer {
 public:
  Buffer() = default;
  /// Host memory that a program walks; the program is kept after MPI_Type_free.
  Buffer(std::shared_ptr<const pack::Program> program, const void* user)
      : program_(std::move(program)), user_(static_cast<char*>(const_cast<void*>(user))) {}
  explicit Buffer(std::shared_ptr<const Packer> packer) : packer_(std::move(packer)) {}
  static Buffer contiguous(const void* user, std::int64_t size) {
    Buffer buffer;
    buffer.user_ = static_cast<char*>(const_cast<void*>(user));
    buffer.size_ = size;
    return buffer;
  }

  explicit operator bool() const { return program_ || packer_ || size_ >= 0; }
  /// Packed bytes.
  std::int64_t size() const { return packer_ ? packer_->size() : program_ ? program_->size() : size_; }
  /// Packs bytes [begin, end) of the stream to `to`. Stores go through the caches, since the bytes
  /// are read again at once.
  void pack(char* to, std::int64_t begin, std::int64_t end) const {
    if (packer_)
      packer_->pack(to, begin, end);
    else if (program_)
      program_->pack(user_, to, begin, end, pack::Stores::cached);
    else
      std::memcpy(to, user_ + begin, static_cast<std::size_t>(end - begin));
  }
  /// Unpacks bytes [begin, end) of the stream from `from`.
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const {
    if (packer_)
      packer_->unpack(from, begin, end);
    else if (program_)
      program_->unpack(from, user_, begin, end, pack::Stores::cached);
    else
      std::memcpy(user_ + begin, from, static_cast<std::size_t>(end - begin));
  }

  /// The user's memory if it is contiguous host memory, else null.
  char* contiguous_host() const { return packer_ || program_ ? nullptr : user_; }
  /// The program of host memory that a program walks, else null.
  const pack::Program* program() const { return program_.get(); }
  /// What reaches other memory, else null.
  const Packer* packer() const { return packer_.get(); }
  /// What kernels are told about data in a GPU's memory, else null.
  const pack::gpu::Described* device() const { return packer_ ? packer_->device() : nullptr; }

 private:
  std::shared_ptr<const pack::Program> program_;
  std::shared_ptr<const Packer> packer_;
  char* user_ = nullptr;
  std::int64_t size_ = -1;  // of contiguous host memory
};

}  // namespace dunnage::memory
