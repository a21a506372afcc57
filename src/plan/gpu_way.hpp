// The ways of messages on device memory, and why each was taken: one row of the report each.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dunnage::plan {

/// From here on data that cannot be read where they are go through shared memory; shorter ones are staged in half the time that the rings take.
inline constexpr std::int64_t least_shared = 64 << 10;
/// From here on an MPI that reaches GPUs is given packed data there; shorter ones are packed into host memory by the kernel, and travel as messages
/// of the host do.
inline constexpr std::int64_t least_passed = 16 << 10;

enum class GpuWay : unsigned char {
  // By ticket: the receiver's GPU reads the data.
  direct,
  direct_packed,
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
    std::string_view("rings in shared memory: DUNNAGE_GPU_PATH=staged"),
    std::string_view("rings in shared memory: the receiver cannot read this GPU, or has not tried yet"),
    std::string_view("staged in host memory: DUNNAGE_GPU_PATH=staged"),
    std::string_view("staged in host memory: the receiver cannot read this GPU, or has not tried yet, and the message is small or very large"),
    std::string_view("staged in host memory: no shared memory with the receiver: another host, this process itself, tickets off, or not met yet"),
    std::string_view("staged in host memory: a short message"),
    std::string_view("staged in host memory: in several allocations, or packed the MPI's own way"),
    std::string_view("staged in host memory: no ticket or no memory left"),
    std::string_view("staged in host memory: a buffered send, or one that replaces"),
    std::string_view("passed to the MPI in place: it reaches GPUs, and the data are contiguous"),
    std::string_view("passed to the MPI, packed in device memory: it reaches GPUs"),
};
inline constexpr auto gpu_ways = gpu_way_text.size();
static_assert(gpu_ways == static_cast<std::size_t>(GpuWay::none));

constexpr std::string_view text(GpuWay way) { return gpu_way_text[static_cast<std::size_t>(way)]; }

}  // namespace dunnage::plan
