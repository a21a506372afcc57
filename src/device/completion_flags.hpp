// Words by which kernels tell the host that they have moved their data. The host then knows that up
// to 0.9 us before the driver says that the stream is idle
// (docs/decisions/0048-completion-flags.md). pack/cuda/completing_moves.hpp has what kernels do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/driver.hpp"

namespace dunnage::device {

/// Of one stream. Its kernels that tell their end are numbered from 1 on.
struct CompletionFlag {
  CUdeviceptr count = 0;          // device memory, of which kernels keep their count
  std::uint64_t* told = nullptr;  // page-locked host memory: the number of the latest kernel that has ended
  std::uint64_t launched = 0;     // the number of the latest kernel that was put into the stream

  explicit operator bool() const { return told != nullptr; }
  bool reached() const { return __atomic_load_n(told, __ATOMIC_ACQUIRE) == launched; }
};

/// Of one context, whose lock the caller holds. Its members need the context to be current.
class CompletionFlags {
 public:
  static constexpr std::size_t count_bytes = 16;

  explicit CompletionFlags(const Driver& driver) : driver_(driver) {}
  CompletionFlags(const CompletionFlags&) = delete;
  CompletionFlags& operator=(const CompletionFlags&) = delete;
  /// Takes the memory, or none if the driver has none. To be called when the first kernel is
  /// loaded: later the driver may wait for kernels that run before it gives memory.
  void make();
  /// A flag for a stream, which keeps it until release(). Nothing if there is none left, or if the
  /// driver fails.
  CompletionFlag take(CUstream stream);
  void release();

 private:
  static constexpr std::size_t most = 64;        // streams
  static constexpr std::size_t cache_line = 64;  // bytes
  const Driver& driver_;
  CUdeviceptr counts_ = 0;
  void* told_ = nullptr;
  std::size_t taken_ = 0;
};

}  // namespace dunnage::device
