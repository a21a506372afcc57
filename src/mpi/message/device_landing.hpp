// Transfers into a receive's buffer from memory that a GPU of this process reads.
#pragma once

#include <memory>
#include <vector>

#include "memory/landing.hpp"
#include "pack/gpu/launch.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {

/// Where the data go if that is device memory in one allocation, else null.
const pack::gpu::Described* in_device(const memory::Landing& landing);

/// Where data from a source go, and the context that brings them.
struct Destination {
  const pack::gpu::Described* to;  // null if the data go by way of host memory
  CUcontext context;
};
/// Throws device::Error.
Destination destination(const device::Driver& driver, const memory::Landing& landing,
                        const transport::gpu::GpuSource& source);

/// Brings the data by way of host memory, whatever the receiver's layout is. Throws device::Error,
/// std::bad_alloc.
void fetch_to_host(const device::Driver& driver, const transport::gpu::Remote& remote, const memory::Landing& landing);

/// Launches what was planned before, in the context that it needs, and waits for the end. Throws
/// device::Error.
void run(CUcontext context, pack::gpu::PreparedMoves& moves);

/// While our transfers are under way, the MPI makes progress once in so many polls: a look into the
/// MPI takes 8 us if messages have come, a poll less than 1 us.
inline constexpr int polls_between = 64;

/// Work on a device that is under way. Its members may be called in any context.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  /// Whether it has ended. Throws device::Error; what it was to write is then undefined.
  virtual bool done() = 0;
};

/// Transfers together with the context that they need. Their destructor makes it current.
class ScopedTransfers final : public DeviceWork {
 public:
  using Move = transport::gpu::Transfers::Move;
  /// Throws device::Error.
  ScopedTransfers(CUcontext context, std::vector<Move> moves);
  /// The moves, and what they keep, live until the transfers end.
  ScopedTransfers(CUcontext context, transport::gpu::Transfers::Moves moves);
  ScopedTransfers(ScopedTransfers&&) = default;
  ScopedTransfers& operator=(ScopedTransfers&&) = delete;
  ~ScopedTransfers() override;
  bool done() override;

 private:
  CUcontext context_;
  std::vector<Move> moves_;  // those that nobody else keeps
  std::unique_ptr<transport::gpu::Transfers> transfers_;
};

}  // namespace dunnage::mpi
