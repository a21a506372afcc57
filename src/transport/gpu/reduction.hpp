// Reductions by the kernels of this process' GPU, which reads the other processes' memory where it
// is.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/ipc.hpp"
#include "pack/gpu/launch.hpp"

namespace dunnage::transport::gpu {

using pack::cuda::Element;
using pack::cuda::Handshake;
using pack::cuda::Operation;

/// The work of one call on one stream. Every member, and the destructor, needs the context to be
/// current in which the object was made. Members throw device::Error. Not thread-safe.
class GpuReduction {
 public:
  explicit GpuReduction(const device::Driver& driver)
      : driver_(driver), gpu_(device::Gpu::current(driver)), lane_(gpu_) {}

  /// Maps an allocation of another process, or uses a mapping that exists. Returns the address of
  /// its byte `at`. The mapping stays while this object lives.
  std::uintptr_t map(const device::Exported& allocation, std::int64_t at);
  /// Begins to reduce `count` elements of all sources, in their order. With a handshake the work
  /// ends only when all ranks' has begun, or when someone has ended the waits for the slots.
  void reduce(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
              std::int64_t count, const Handshake& handshake = {});
  /// Begins to copy elements. Gaps in them are not touched.
  void copy(Element element, Operation operation, std::uintptr_t from, std::uintptr_t to, std::int64_t count);
  /// Whether all has been done that was begun.
  bool done() { return lane_.done(); }

 private:
  const device::Driver& driver_;
  device::Gpu& gpu_;
  std::vector<std::shared_ptr<const device::Import>> kept_;
  device::Borrowed lane_;  // after kept_: its work ends before the mappings do
};

}  // namespace dunnage::transport::gpu
