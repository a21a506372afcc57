// Data in the memory of another process' GPU: how they are described to the receiver, and how the
// receiver's GPU gets them.
//
// The receiver does all the work. It maps the sender's memory, and reads from there. If both sides
// are contiguous, the copy engine copies. If one side is contiguous, the kernel that packs or
// unpacks reads or writes the other side directly. If neither is, one kernel moves nests of loops
// from layout to layout. For all other layouts one kernel packs and another unpacks, piece by
// piece.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/gpu/pack.hpp"

namespace dunnage::transport::gpu {

using pack::gpu::Described;
using pack::gpu::GpuRecipe;

/// Where the data of one message are. Plain bytes: a ticket contains it.
struct GpuSource {
  static constexpr std::int32_t most_levels = 16;
  device::Exported allocation;
  std::int64_t offset;  // from the beginning of the allocation to the first byte of the stream
  std::int64_t size;    // packed bytes
  std::int64_t block;   // bytes of each contiguous block
  std::int32_t levels, unused;
  std::int64_t count[most_levels], stride[most_levels];  // of each loop, the outermost first; strides in bytes
  bool contiguous() const { return levels == 0; }
};

/// Describes a buffer in an allocation. Returns nothing if its layout is not a nest of at most
/// `most_levels` loops, or if a part of the buffer is outside the allocation.
std::optional<GpuSource> describe(const Described& user, const device::Exported& allocation);
/// Describes `size` contiguous bytes at the beginning of an allocation.
GpuSource describe(const device::Exported& allocation, std::int64_t size);
/// Describes bytes [begin, end) of `source`, which must be contiguous.
GpuSource part_of(const GpuSource& source, std::int64_t begin, std::int64_t end);
/// Describes `size` contiguous bytes of this process, in memory of the kind that `place` says.
Described contiguous_at(std::uintptr_t address, std::int64_t size, const device::Place& place);

/// Data of another process, mapped into the current context. Its members may be called in any
/// thread.
class Remote {
 public:
  /// Maps the allocation, or uses a mapping that exists. Throws device::Error.
  Remote(const device::Driver& driver, const GpuSource& source);
  std::int64_t size() const { return source_.size; }
  /// The process whose memory it is; -1 if it is this one.
  std::int32_t owner() const { return source_.allocation.way == device::Exported::own ? -1 : source_.allocation.owner; }
  /// Copies bytes [begin, end) of the packed stream to this process, and waits until they are
  /// there. Byte 0 would go to `to`, in memory of the kind that `place` says. Throws device::Error.
  void pack(void* to, const device::Place& place, std::size_t piece, std::int64_t begin, std::int64_t end) const;

  /// The data as kernels of this context take them.
  Described described() const;
  /// The mapping, which must live while such kernels run.
  const std::shared_ptr<const device::Import>& mapping() const { return import_; }

 private:
  const device::Driver& driver_;
  const GpuSource source_;
  device::Gpu& gpu_;
  const std::shared_ptr<const device::Import> import_;
  const std::shared_ptr<const GpuRecipe> recipe_;
};

/// Moves the data of several messages to this context's device memory. All begin together. Messages
/// of less than `large` bytes share a launch if none of them is faster alone. Contiguous ones of
/// less than `most_by_kernels` bytes share a launch if some of them are large and come from
/// different processes: where ranks begin at different times, their copy engines would all read
/// from one GPU first. Every member, and the destructor, needs the context to be current in which
/// the object was made. Not thread-safe.
class Transfers {
 public:
  struct Move {
    Described from;  // in this context's device memory, or mapped into it
    Described to;
    std::int64_t size;                 // packed bytes
    std::shared_ptr<const void> keep;  // lives until the transfers end
    std::int32_t owner = -1;           // the process whose memory is read; -1 if it is this one
  };
  /// What brings the data of another process.
  static Move move(std::shared_ptr<const Remote> remote, const Described& to) {
    auto from = remote->described();
    const auto size = remote->size();
    const auto owner = remote->owner();
    return {std::move(from), to, size, std::move(remote), owner};
  }
  using Moves = std::span<const Move* const>;  // each lives until the transfers end
  /// Begins them, in the current context. `piece`: bytes of staging memory, of which two are taken
  /// if neither side of a move is contiguous and no kernel moves from layout to layout. Throws
  /// device::Error.
  Transfers(device::Gpu& gpu, Moves moves, std::size_t piece);
  ~Transfers();
  /// Whether all data are where they belong. If it throws device::Error, the bytes are undefined.
  bool done();

 private:
  class Scratch;
  /// Whether messages of at least `large` and less than `most_by_kernels` bytes come from different
  /// processes.
  static bool from_several(Moves moves);
  /// Begins the messages that share launches, and returns the places of the others.
  std::vector<std::size_t> begin_together(Moves moves);
  /// Bytes from which on messages go to two streams in turn. The copy engine then begins with the
  /// next message while it still waits for the last bytes of the one before.
  static constexpr std::int64_t large = 4 << 20;
  static constexpr std::int64_t most_by_kernels = 32 << 20;
  device::Borrowed& lane_for(std::int64_t bytes);

  device::Gpu& gpu_;
  std::unique_ptr<Scratch> scratch_;
  device::Borrowed lane_;
  std::optional<device::Borrowed> second_;
  unsigned turn_ = 0;
};

}  // namespace dunnage::transport::gpu
