// What we keep for each context: kernels, streams, staging memory, and constants that kernels read.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/arena.hpp"
#include "device/driver.hpp"
#include "device/ipc.hpp"
#include "device/pinned.hpp"

namespace dunnage::device {

/// A stream of our own with its staging memory. One call at a time has it.
struct Lane {
  CUstream stream = nullptr;
  CUevent done[2] = {};
  // Staging memory, made when it is first wanted.
  char* pinned[2] = {};  // host memory that the device can reach, at the same address
  CUdeviceptr scratch = 0;
};

class Gpu {
 public:
  /// Of the current context. Throws Error.
  static Gpu& current(const Driver& driver);
  static Gpu& of(const Driver& driver, CUcontext context);
  /// Gives back everything in contexts that still exist. No call may be under way.
  static void release_all(const Driver& driver);

  const Driver& driver() const { return driver_; }
  CUcontext context() const { return context_; }
  Imports& imports() { return imports_; }
  Arena& arena() { return *arena_; }
  PinnedPool& pinned() { return pinned_; }

  static constexpr std::uint32_t most_kernels = 1u << 14;
  /// A kernel by its code, a number below most_kernels, and its name, which is asked for the first time only.
  CUfunction kernel(std::uint32_t code, const std::function<std::string()>& name);

  /// Where constants stand in the device's memory. `make(address)` gives their bytes the first time; they are freed some time
  /// after `owner` has ended. `id` is theirs alone.
  CUdeviceptr constants(std::uint64_t id, const std::weak_ptr<const void>& owner, std::size_t size,
                        const std::function<std::vector<char>(std::uintptr_t)>& make, Lane& lane);

  /// A lane with staging memory of `piece` bytes, which is the same in every call: `pinned`, twice, `scratch` or neither.
  Lane take(std::size_t piece, bool pinned, bool scratch);
  void give(const Lane& lane);
  /// After an error, when it is not known whether the stream is still at work.
  void abandon(const Lane& lane);

 private:
  explicit Gpu(const Driver& driver) : driver_(driver), pinned_(driver), arena_(std::make_shared<Arena>(driver)) {}
  void load();
  void release();
  void drop(const Lane& lane);

  struct Constants {
    std::weak_ptr<const void> owner;
    CUdeviceptr address;
  };
  const Driver& driver_;
  PinnedPool pinned_;
  CUcontext context_ = nullptr;
  std::mutex mutex_;
  CUmodule module_ = nullptr;
  std::array<std::atomic<CUfunction>, most_kernels> kernels_{};
  std::vector<Lane> lanes_;
  std::map<std::uint64_t, Constants> constants_;
  Imports imports_;
  const std::shared_ptr<Arena> arena_;
};

/// A lane for the length of one call.
class Borrowed {
 public:
  Borrowed(Gpu& gpu, std::size_t piece = 0, bool pinned = false, bool scratch = false)
      : gpu_(gpu), lane_(gpu.take(piece, pinned, scratch)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { idle_ ? gpu_.give(lane_) : gpu_.abandon(lane_); }
  Lane& operator*() { return lane_; }
  Lane* operator->() { return &lane_; }
  /// Waits for all that was put into the stream. Throws Error.
  void synchronize();
  /// Something is about to be put into the stream.
  void busy() { idle_ = false; }
  /// Whether it has come to an end. Throws Error.
  bool done();

 private:
  Gpu& gpu_;
  Lane lane_;
  bool idle_ = true;
};

}  // namespace dunnage::device
