// Data in the memory of another process' GPU: how they are described to this process, and how its own GPU gets them from there.
//
// The receiver does all the work. It reads through its mapping of the sender's memory: contiguous data with the copy engine, others with the
// kernel that packs or unpacks them on the way. Where neither side is contiguous one kernel moves nests from their places there to those
// here; for the rest both kernels work, piece by piece.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
  bool contiguous() const { return levels == 0; }
};

/// Of a buffer in an allocation; nothing where its layout is no nest of so few loops.
std::optional<GpuSource> describe(const Described& user, const device::Exported& allocation);
/// Of contiguous bytes at the beginning of an allocation.
GpuSource describe(const device::Exported& allocation, std::int64_t size);
/// Bytes [begin, end) of contiguous data.
GpuSource part_of(const GpuSource& source, std::int64_t begin, std::int64_t end);
/// Contiguous bytes of this process', in memory of the kind that `place` says.
Described contiguous_at(std::uintptr_t address, std::int64_t size, const device::Place& place);

/// Such data, mapped into the current context.
class Remote {
 public:
  /// Throws device::Error.
  Remote(const device::Driver& driver, const GpuSource& source);
  std::int64_t size() const { return source_.size; }
  /// Brings bytes [begin, end) to `to`, where byte 0 would be, of the kind that `place` says. They are there when it returns. Throws device::Error.
  void pack(void* to, const device::Place& place, std::size_t piece, std::int64_t begin, std::int64_t end) const;

 private:
  friend class Transfers;
  Described described() const;
  const device::Driver& driver_;
  const GpuSource source_;
  device::Gpu& gpu_;
  const std::shared_ptr<const device::Import> import_;
  const std::shared_ptr<const GpuRecipe> recipe_;
};

/// Messages on their way from such data to this context's device memory: begun together, small ones in one launch. Every call needs the
/// context of construction to be current, the destructor too.
class Transfers {
 public:
  struct Move {
    std::shared_ptr<const Remote> remote;
    Described to;
  };
  /// Begins them. `piece`: bytes of staging memory, of which two are taken where neither side of one is contiguous. Throws device::Error.
  Transfers(const std::vector<Move>& moves, std::size_t piece);
  ~Transfers();
  /// Whether all data are where they belong. Throws device::Error; the bytes are then undefined.
  bool done();

 private:
  class Scratch;
  /// Two streams have large data in turn: the copy engine begins with the next while it waits for the last bytes that it has asked for.
  static constexpr std::int64_t large = 4 << 20;
  device::Borrowed& lane_for(std::int64_t bytes);

  device::Gpu& gpu_;
  std::vector<std::shared_ptr<const Remote>> remotes_;
  std::unique_ptr<Scratch> scratch_;
  device::Borrowed lane_;
  std::optional<device::Borrowed> second_;
  unsigned turn_ = 0;
};

}  // namespace dunnage::engine
