// Data in the memory of another process' GPU: how they are described to this process, and how its own GPU gets them from there.
//
// The receiver does all the work. It reads through its mapping of the sender's memory: contiguous data with the copy engine, others with the
// kernel that packs or unpacks them on the way, and where neither side is contiguous with both, piece by piece.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/gpu_pack.hpp"

namespace dunnage::engine {

/// Where the data of one message are. Plain bytes: it travels in the ticket.
struct GpuSource {
  static constexpr std::int32_t most_levels = 16;
  device::Exported allocation;
  std::int64_t offset;  // of the first byte of the stream from the allocation's beginning
  std::int64_t size;    // packed bytes
  std::int64_t block;   // bytes of each contiguous block
  std::int32_t levels, unused;
  std::int64_t count[most_levels], stride[most_levels];  // from the outermost; bytes
};

/// Of a buffer in an allocation; nothing where its layout is no nest of so few loops.
std::optional<GpuSource> describe(const Described& user, const device::Exported& allocation);
/// Of contiguous bytes at the beginning of an allocation.
GpuSource describe(const device::Exported& allocation, std::int64_t size);

/// Such data, mapped into the current context.
class Remote {
 public:
  /// Throws device::Error.
  Remote(const device::Driver& driver, const GpuSource& source);
  std::int64_t size() const { return source_.size; }
  /// Brings bytes [begin, end) to `to`, where byte 0 would be, of the kind that `place` says. They are there when it returns. Throws device::Error.
  void pack(void* to, const device::Place& place, std::size_t piece, std::int64_t begin, std::int64_t end) const;
  /// Brings all to a buffer in this context's device memory. The same.
  void transfer(const Described& to) const;

 private:
  Described described() const;
  const device::Driver& driver_;
  const GpuSource source_;
  device::Gpu& gpu_;
  const std::shared_ptr<const device::Import> import_;
  const std::shared_ptr<const GpuRecipe> recipe_;
};

}  // namespace dunnage::engine
