// A message of an exchange that the proxy does (proxy.hpp): page-locked memory for its packed
// bytes, and a persistent request of Dunnage's own on the private world.
#pragma once

#include "device/gpu.hpp"
#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {

/// Movable. Not thread-safe.
class ProxiedMessage {
 public:
  /// The MPI counts the bytes of a message by an int.
  static constexpr std::int64_t most = std::numeric_limits<int>::max();

  /// A message of at most `most` bytes to a rank of MPI_COMM_WORLD. The tags are the message's. The
  /// context of `gpu` must be current. Throws device::Error.
  static ProxiedMessage to(device::Gpu& gpu, int rank, Tags tags, std::int64_t bytes, bool synchronous);
  /// Likewise a message from a rank, which has chosen the tag.
  static ProxiedMessage from(device::Gpu& gpu, int rank, int tag, std::int64_t bytes);

  ProxiedMessage(ProxiedMessage&& other) noexcept;
  ProxiedMessage& operator=(ProxiedMessage&&) = delete;
  ~ProxiedMessage();

  std::uintptr_t memory() const { return reinterpret_cast<std::uintptr_t>(memory_); }
  MPI_Request request() const { return request_; }
  /// Frees the request. If it is active, the MPI keeps the memory. No other thread may use it.
  void end(bool active);

 private:
  ProxiedMessage(device::Gpu& gpu, Tags tags, std::int64_t bytes);
  std::size_t room() const { return static_cast<std::size_t>(std::max<std::int64_t>(bytes_, 1)); }

  device::Gpu& gpu_;
  Tags tags_;
  std::int64_t bytes_;
  char* memory_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace dunnage::mpi
