// The buffers of one rank: a window of messages to send and one to receive into.
#pragma once

#include <optional>
#include <string>

#include "cuda_aware/pattern.hpp"

namespace bench {

/// The memory in which the messages of a series lie.
enum class Kind {
  device,  ///< device memory that is handed to MPI in place
  host,    ///< ordinary host memory
  staged,  ///< device memory that the program itself copies to and from pinned host memory
};

std::string name(Kind kind);

/// Where the k-th messages of a window lie.
struct Window {
  Shape shape;
  int length = 1;

  std::size_t step() const { return (shape.extent() + 255) / 256 * 256; }
  std::size_t bytes() const { return step() * static_cast<std::size_t>(length); }
};

class Buffers {
 public:
  Buffers(Kind kind, std::size_t bytes);

  Kind kind() const { return kind_; }
  std::size_t bytes() const { return bytes_; }
  /// Takes new memory. No message may be in progress.
  void renew();

  // The memory that is filled and checked.
  Place to_send(const Window& window, int k) const { return send_.place() + offset(window, k); }
  Place received(const Window& window, int k) const { return recv_.place() + offset(window, k); }
  // The memory that MPI is handed: copies in host memory if the program stages.
  void* mpi_send(const Window& window, int k) const {
    return (host_send_ ? *host_send_ : send_).place().at + offset(window, k);
  }
  void* mpi_recv(const Window& window, int k) const {
    return (host_recv_ ? *host_recv_ : recv_).place().at + offset(window, k);
  }
  // The program's copies. These do nothing if the program does not stage.
  void stage_out(const Window& window, int k) const;
  void stage_in(const Window& window, int k) const;

  void fill(const Pattern& pattern, const Window& window, std::size_t salt) const;
  void poison(const Window& window) const;
  bool arrived(Pattern& pattern, const Window& window, std::size_t salt) const;

 private:
  static std::size_t offset(const Window& window, int k) { return window.step() * static_cast<std::size_t>(k); }
  Where where() const { return kind_ == Kind::host ? Where::host : Where::device; }

  const Kind kind_;
  const std::size_t bytes_;
  Memory send_, recv_;
  std::optional<Memory> host_send_, host_recv_;
  std::optional<Pinned> pinned_send_, pinned_recv_;
};

}  // namespace bench
