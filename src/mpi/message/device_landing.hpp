// Transfers into a receive's buffer from memory that a GPU of this process reads.
#pragma once

#include <memory>
#include <vector>

#include "base/function_ref.hpp"
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

/// Launches what was planned before, in the context that it needs, and waits for the end. Calls
/// `moved` as soon as the data are there: others may wait for that. Throws device::Error.
void run(CUcontext context, pack::gpu::PreparedMoves& moves, base::FunctionRef<void()> moved);

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

/// Work together with the context that it needs. The destructor makes it current, too. Work: has
/// done().
template <class Work>
class ScopedWork final : public DeviceWork {
 public:
  /// `make` returns the work, which has begun. It is called in the context. Throws device::Error.
  ScopedWork(CUcontext context, base::FunctionRef<std::unique_ptr<Work>()> make) : context_(context) {
    const device::Scope scope(*device::driver(), context_);
    work_ = make();
  }
  ScopedWork(ScopedWork&&) = default;
  ScopedWork& operator=(ScopedWork&&) = delete;
  ~ScopedWork() override {
    if (!work_) return;
    try {
      const device::Scope scope(*device::driver(), context_);
      work_.reset();
    } catch (const std::exception&) {
      (void)work_.release();  // the context has gone, and all of it with it
    }
  }
  bool done() override {
    const device::Scope scope(*device::driver(), context_);
    return work_->done();
  }

 private:
  CUcontext context_;
  std::unique_ptr<Work> work_;
};

/// Transfers together with the context that they need.
class ScopedTransfers final : public DeviceWork {
 public:
  using Move = transport::gpu::Transfers::Move;
  /// Throws device::Error.
  ScopedTransfers(CUcontext context, std::vector<Move> moves);
  /// The moves, and what they keep, live until the transfers end.
  ScopedTransfers(CUcontext context, transport::gpu::Transfers::Moves moves);
  bool done() override { return work_.done(); }

 private:
  std::vector<Move> moves_;  // those that nobody else keeps
  ScopedWork<transport::gpu::Transfers> work_;
};

}  // namespace dunnage::mpi
