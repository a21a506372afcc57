// Several ranges of a GPU's data on their way to or from host memory at a time.
#pragma once

#include <deque>
#include <memory>

#include "engine/gpu_pack.hpp"

namespace dunnage::engine {

/// Not thread-safe. All of the data must be in one allocation. Throws device::Error.
class GpuPipe {
 public:
  GpuPipe(const device::Driver& driver, Direction direction, const Described& data, std::size_t piece);
  GpuPipe(const GpuPipe&) = delete;
  GpuPipe& operator=(const GpuPipe&) = delete;
  ~GpuPipe();

  /// Takes up bytes [begin, end) of the stream. Returns at once where `memory` is page-locked and not many are under way.
  void begin(const char* memory, std::int64_t begin, std::int64_t end);
  /// How many have come to their end, in order.
  std::uint64_t ended();

 private:
  static constexpr std::size_t most = 4;  // under way: one that is being copied, and others that the copy engine may go on with
  void pop();

  const device::Driver& driver_;
  const Direction direction_;
  const Described data_;
  const std::size_t piece_;
  const device::Scope scope_;
  device::Gpu& gpu_;
  std::deque<std::unique_ptr<device::Borrowed>> lanes_;
  std::uint64_t ended_ = 0;
};

}  // namespace dunnage::engine
