// The data of one message, as a stream of packed bytes: in host memory, by a program, or wherever someone else gets it from.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "pack/cpu/program.hpp"

namespace dunnage::engine {

struct Described;

/// Data that the host does not reach by itself. Ranges of the stream; may throw what its kind of memory throws.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  virtual std::int64_t size() const = 0;
  virtual void pack(char* to, std::int64_t begin, std::int64_t end) const = 0;
  virtual void unpack(const char* from, std::int64_t begin, std::int64_t end) const = 0;
  /// Of data that kernels can read: what they are told. Else null.
  virtual const Described* device() const { return nullptr; }
};

/// Keeps the plan alive after MPI_Type_free, and none of the data.
class Content {
 public:
  Content() = default;
  Content(std::shared_ptr<const pack::Program> program, const void* user) : program_(std::move(program)), user_(const_cast<void*>(user)) {}
  explicit Content(std::shared_ptr<const Elsewhere> elsewhere) : elsewhere_(std::move(elsewhere)) {}

  explicit operator bool() const { return program_ || elsewhere_; }
  /// Of data in host memory.
  const pack::Program& program() const { return *program_; }
  std::int64_t size() const { return elsewhere_ ? elsewhere_->size() : program_->size(); }
  /// Stores are cached ones: the MPI reads what is packed at once.
  void pack(char* to, std::int64_t begin, std::int64_t end) const {
    elsewhere_ ? elsewhere_->pack(to, begin, end) : program_->pack(user_, to, begin, end, pack::Stores::cached);
  }
  /// Whether the host does not reach the data by itself.
  bool elsewhere() const { return elsewhere_ != nullptr; }
  const Described* device() const { return elsewhere_ ? elsewhere_->device() : nullptr; }
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const {
    elsewhere_ ? elsewhere_->unpack(from, begin, end) : program_->unpack(from, user_, begin, end, pack::Stores::cached);
  }

 private:
  std::shared_ptr<const pack::Program> program_;
  std::shared_ptr<const Elsewhere> elsewhere_;
  void* user_ = nullptr;
};

}  // namespace dunnage::engine
