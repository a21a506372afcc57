// What we keep for each CUDA context: kernels, streams, staging memory, and constants that kernels
// read.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/arena.hpp"
#include "device/completion_flags.hpp"
#include "device/default_stream.hpp"
#include "device/driver.hpp"
#include "device/ipc.hpp"
#include "device/kernel_graphs.hpp"
#include "device/pinned.hpp"
#include "device/recorded_graph.hpp"

namespace dunnage::device {

/// A stream of our own with its staging memory. Only one call uses a lane at a time.
struct Lane {
  CUstream stream = nullptr;
  CUevent done[2] = {};
  CompletionFlag completion;  // nothing until a kernel needs it, or if there is none
  // Staging memory, allocated when a call first needs it.
  char* pinned[2] = {};  // page-locked host memory, with the same address on host and device
  CUdeviceptr scratch = 0;
};

class Gpu {
 public:
  /// The Gpu of the current context. Throws Error.
  static Gpu& current(const Driver& driver);
  static Gpu& of(const Driver& driver, CUcontext context);
  /// Frees what we keep in all contexts that still exist. No other call may be running.
  static void release_all(const Driver& driver);

  const Driver& driver() const { return driver_; }
  CUcontext context() const { return context_; }
  Imports& imports() { return imports_; }
  Arena& arena() { return *arena_; }
  PinnedPool& pinned() { return pinned_; }
  /// For what streams use while no thread of the host may call the driver. Has no limit.
  PinnedPool& proxy_memory() { return proxy_memory_; }
  DefaultStream& default_stream() { return default_stream_; }

  static constexpr std::uint32_t most_kernels = 1u << 14;
  /// The kernel with this code, a number below most_kernels. `name` is called only the first time.
  /// Throws Error.
  CUfunction kernel(std::uint32_t code, const std::function<std::string()>& name);

  /// Loads a kernel now. The driver otherwise may do that at its first launch, and then waits for
  /// the kernels that run. Throws Error.
  void load(CUfunction kernel);
  /// Puts a kernel with one parameter into a stream of the current context, and counts it.
  /// `shared`: bytes of a block's shared memory. Throws Error.
  void launch(CUfunction kernel, std::uint32_t blocks, std::uint32_t threads, CUstream stream, void* parameter,
              std::uint32_t shared = 0) const;
  void launch(const RecordedGraph& graph, CUstream stream) const;
  /// Likewise in the stream of a lane, where a graph may take the kernel's place.
  void launch(const KernelLaunch& what, Lane& lane);

  /// The device address of constants. `id` identifies them. The first call uploads the bytes that
  /// `make(address)` returns. They are freed some time after `owner` has expired. Throws Error.
  CUdeviceptr constants(std::uint64_t id, const std::weak_ptr<const void>& owner, std::size_t size,
                        const std::function<std::vector<char>(std::uintptr_t)>& make, Lane& lane);

  /// A lane with two `pinned` pieces, with one `scratch` piece, or with no staging memory. A piece
  /// has `piece` bytes, which must be the same number in every call. Throws Error.
  Lane take(std::size_t piece, bool pinned, bool scratch);
  void give(const Lane& lane);
  /// Gives a lane back after an error, if its stream may still be working.
  void abandon(Lane& lane);
  /// Gives the lane a completion flag if it has none, and there is one.
  void find_completion_flag(Lane& lane);

 private:
  explicit Gpu(const Driver& driver)
      : driver_(driver),
        pinned_(driver),
        proxy_memory_(driver),
        default_stream_(driver),
        graphs_(driver),
        completion_flags_(driver),
        arena_(std::make_shared<Arena>(driver)) {}
  void load_module();
  void release();
  void drop(const Lane& lane);

  struct Constants {
    std::weak_ptr<const void> owner;
    CUdeviceptr address;
  };
  const Driver& driver_;
  PinnedPool pinned_, proxy_memory_;
  DefaultStream default_stream_;
  KernelGraphs graphs_;
  CompletionFlags completion_flags_;
  CUcontext context_ = nullptr;
  std::mutex mutex_;
  CUmodule module_ = nullptr;
  std::array<std::atomic<CUfunction>, most_kernels> kernels_{};
  std::vector<Lane> lanes_;
  std::map<std::uint64_t, Constants> constants_;
  Imports imports_;
  const std::shared_ptr<Arena> arena_;
};

/// A lane that is given back at the end of a scope.
class Borrowed {
 public:
  Borrowed(Gpu& gpu, std::size_t piece = 0, bool pinned = false, bool scratch = false)
      : gpu_(gpu), lane_(gpu.take(piece, pinned, scratch)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { idle_ ? gpu_.give(lane_) : gpu_.abandon(lane_); }
  Lane& operator*() { return lane_; }
  Lane* operator->() { return &lane_; }
  /// Waits for all work in the stream. Throws Error.
  void synchronize();
  /// To be called before work is put into the stream.
  void busy() { idle_ = completes_ = false; }
  /// The flag by which a kernel tells its end that is about to be put into the stream. Null if
  /// there is none.
  const CompletionFlag* completion_flag();
  /// That kernel has been put into the stream, and is the stream's last work.
  void completes() {
    ++lane_.completion.launched;
    completes_ = true;
  }
  /// Whether the stream has finished its work, or the last kernel has told its end. Throws Error.
  bool done();

 private:
  bool told_its_end();

  Gpu& gpu_;
  Lane lane_;
  bool idle_ = true;
  bool completes_ = false;  // the last work tells its end
  unsigned polls_ = 0;      // of such work
};

}  // namespace dunnage::device
