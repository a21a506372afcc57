// A message that the proxy does (proxy.hpp): page-locked memory for its packed bytes, and a
// persistent request of Dunnage's own on the private world.
#pragma once

#include "device/gpu.hpp"
#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {

/// Movable. Not thread-safe.
class ProxiedMessage {
 public:
  /// The MPI counts the bytes of a message by an int.
  static constexpr std::int64_t most_bytes = std::numeric_limits<int>::max();

  /// A message of at most `most_bytes` bytes to a rank of MPI_COMM_WORLD. The tags are the
  /// message's. The context of `gpu` must be current. Throws device::Error.
  static ProxiedMessage to(device::Gpu& gpu, int rank, Tags tags, std::int64_t bytes, bool synchronous);
  /// Likewise a message from a rank, which has chosen the tag.
  static ProxiedMessage from(device::Gpu& gpu, int rank, int tag, std::int64_t bytes);

  ProxiedMessage(ProxiedMessage&& other) noexcept;
  ProxiedMessage& operator=(ProxiedMessage&&) = delete;
  ~ProxiedMessage();

  bool sends() const { return sends_; }
  std::uintptr_t memory() const { return reinterpret_cast<std::uintptr_t>(memory_); }
  MPI_Request request() const { return request_; }
  /// Nobody ever gets the tags again.
  void keep_tags() { tags_.keep(); }
  /// Frees the request. If it is under way, memory and tag stay the MPI's for ever. No other thread
  /// may use the request.
  void end();

 private:
  ProxiedMessage(device::Gpu& gpu, Tags tags, std::int64_t bytes);
  std::size_t room() const { return static_cast<std::size_t>(std::max<std::int64_t>(bytes_, 1)); }

  device::Gpu& gpu_;
  Tags tags_;
  bool sends_;
  std::int64_t bytes_;
  char* memory_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace dunnage::mpi
