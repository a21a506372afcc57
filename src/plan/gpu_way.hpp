// The ways of messages on device memory, and why each was taken: one row of the report each.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dunnage::plan {

/// Bytes from which messages gain by each way: as built in, found on an H200 with Open MPI 5 and MPICH 5.
struct GpuSizes {
  std::int64_t direct = 0;         // read by the receiver's GPU, of all that a ticket can stand for
  std::int64_t shared = 64 << 10;  // by rings in shared memory, where that cannot be; shorter ones are staged in half the time
  std::int64_t passed = 16 << 10;  // packed on the device for an MPI that reaches GPUs; shorter ones travel as messages of the host do
};

enum class GpuWay : unsigned char {
  // By ticket: the receiver's GPU reads the data.
  direct,
  direct_packed,
  direct_chain,
  // Packed into page-locked rings in shared memory.
  shared_forced,
  shared_unread,
  // Packed into page-locked memory that the MPI sends.
  staged_forced,
  staged_unread,
  staged_alone,
  staged_small,
  staged_scattered,
  staged_full,
  staged_mode,
  // By the MPI, which reaches GPUs by itself.
  passed,
  passed_packed,
  none,  // how many there are
};

inline constexpr std::array gpu_way_text = {
    std::string_view("direct: the receiver's GPU reads the sender's buffer"),
    std::string_view("direct, from a packed copy: the buffer's memory cannot be exported, or the receiver does not hold it yet, or its layout is no nest of loops"),
    std::string_view("direct, from a rank that is receiving the same broadcast: several would read over the root's link"),
    std::string_view("rings in shared memory: by DUNNAGE_GPU_PATH=staged or the model file"),
    std::string_view("rings in shared memory: the receiver cannot read this GPU, or has not tried yet"),
    std::string_view("staged in host memory: by DUNNAGE_GPU_PATH=staged or the model file"),
    std::string_view("staged in host memory: the receiver cannot read this GPU, or has not tried yet, and the message is small or very large"),
    std::string_view("staged in host memory: no shared memory with the receiver: another host, this process itself, tickets off, or not met yet"),
    std::string_view("staged in host memory: a short message, and the receiver takes no tokens"),
    std::string_view("staged in host memory: in several allocations, or packed the MPI's own way"),
    std::string_view("staged in host memory: no ticket or no memory left, or short and in memory that cannot be exported"),
    std::string_view("staged in host memory: a buffered send, or one that replaces"),
    std::string_view("passed to the MPI in place: it reaches GPUs, and the data are contiguous"),
    std::string_view("passed to the MPI, packed in device memory: it reaches GPUs"),
};
inline constexpr auto gpu_ways = gpu_way_text.size();
static_assert(gpu_ways == static_cast<std::size_t>(GpuWay::none));

/// The way of a message between ranks of one host that is long enough for a ticket. `direct`: whether it may be read by the receiver's GPU.
/// `most_shared`: bytes that rings may take. `reads`: returns whether the receiver can.
template <class Reads>
GpuWay gpu_way(const GpuSizes& sizes, std::int64_t size, bool direct, std::int64_t most_shared, Reads&& reads) {
  const bool forced = !direct || size < sizes.direct;
  if (!forced && reads()) return GpuWay::direct;
  if (size >= sizes.shared && size <= most_shared) return forced ? GpuWay::shared_forced : GpuWay::shared_unread;
  return forced ? GpuWay::staged_forced : GpuWay::staged_unread;
}

/// The way by an MPI that reaches GPUs.
constexpr GpuWay passed_way(const GpuSizes& sizes, std::int64_t size, bool contiguous) {
  return contiguous ? GpuWay::passed : size >= sizes.passed ? GpuWay::passed_packed : GpuWay::staged_small;
}

constexpr std::string_view text(GpuWay way) { return gpu_way_text[static_cast<std::size_t>(way)]; }

}  // namespace dunnage::plan
