// The ways of messages in device memory, and why each was taken. The report has one row for each
// way.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dunnage::plan {

/// The lengths, in bytes, from which messages gain by each way. The built-in figures were found on
/// an H200 with Open MPI 5 and MPICH 5.
struct GpuSizes {
  /// From this length on the receiver's GPU reads the data. A message must also be long enough for
  /// a ticket.
  std::int64_t direct = 0;
  /// From this length on a message that cannot go directly goes through rings in shared memory.
  /// Staging takes half the time for a shorter message.
  std::int64_t shared = 64 << 10;
  /// From this length on data is packed on the device for an MPI that reaches GPUs. A shorter
  /// message travels as a message from host memory does.
  std::int64_t passed = 16 << 10;
};

/// Every way and its text in the report. The names begin with the way:
/// direct  a ticket, or a word in shared memory, stands for the data, and the receiver's GPU reads
///         the data;
/// self    a rank sends to itself, and the data goes from layout to layout;
/// shared  the data is packed into page-locked rings in shared memory;
/// staged  the data is packed into page-locked memory that the MPI sends;
/// passed  the MPI, which reaches GPUs by itself, sends from device memory.
// clang-format off
#define DUNNAGE_GPU_WAYS(row) \
  row(direct, "direct: the receiver's GPU reads the sender's buffer") \
  row(direct_line, \
      "direct, without a message: an exchange that repeats itself, announced in shared memory") \
  row(direct_packed, \
      "direct, from a packed copy: the buffer's memory cannot be exported, or the receiver does not " \
      "hold it yet, or its layout is no nest of loops, or has short blocks for another GPU") \
  row(direct_chain, \
      "direct, from a rank that is receiving the same broadcast: several would read over the root's " \
      "link") \
  row(direct_reduced, "direct, reduced: each rank's GPU reads the data of all ranks") \
  row(direct_reduced_over, \
      "direct, reduced over the data: each rank's GPU reads the data of all ranks, and writes when all have read") \
  row(direct_reduced_in_parts, \
      "direct, reduced in parts: each rank's GPU reduces a part, and reads the parts of the others") \
  row(direct_reduced_on_hosts, \
      "direct, reduced on each host: in parts, which the MPI then reduces with those of the other hosts") \
  row(direct_window, "direct, in a window: the origin's GPU reads and writes the target's memory") \
  row(self, "self: one copy or one kernel from layout to layout") \
  row(shared_forced, "rings in shared memory: by DUNNAGE_GPU_PATH=staged or the model file") \
  row(shared_unread, "rings in shared memory: the receiver cannot read this GPU, or has not tried yet") \
  row(staged_forced, "staged in host memory: by DUNNAGE_GPU_PATH=staged or the model file") \
  row(staged_unread, \
      "staged in host memory: the receiver cannot read this GPU, or has not tried yet, and the " \
      "message is small or very large") \
  row(staged_alone, \
      "staged in host memory: no shared memory with the receiver: another host, tickets off, or not " \
      "met yet") \
  row(staged_small, "staged in host memory: a short message, and the receiver takes no tokens") \
  row(staged_scattered, "staged in host memory: in several allocations, or packed the MPI's own way") \
  row(staged_full, \
      "staged in host memory: no ticket or no memory left, or short and in memory that cannot be " \
      "exported") \
  row(staged_mode, "staged in host memory: a buffered send, or one that replaces") \
  row(passed, "passed to the MPI in place: it reaches GPUs, and the data are contiguous") \
  row(passed_packed, "passed to the MPI, packed in device memory: it reaches GPUs")
// clang-format on

#define DUNNAGE_GPU_WAY_NAME(name, text) name,
enum class GpuWay : unsigned char {
  DUNNAGE_GPU_WAYS(DUNNAGE_GPU_WAY_NAME) none,  // no way; its value is the number of ways
};
#undef DUNNAGE_GPU_WAY_NAME

/// The texts, indexed by GpuWay.
#define DUNNAGE_GPU_WAY_TEXT(name, text) std::string_view(text),
inline constexpr std::array gpu_way_text = {DUNNAGE_GPU_WAYS(DUNNAGE_GPU_WAY_TEXT)};
#undef DUNNAGE_GPU_WAY_TEXT
#undef DUNNAGE_GPU_WAYS

/// The number of ways.
inline constexpr auto gpu_ways = gpu_way_text.size();
static_assert(gpu_ways == static_cast<std::size_t>(GpuWay::none));

/// Chooses the way of a message between ranks of one host that is long enough for a ticket.
/// `direct` says whether the receiver's GPU may read the data. `most_shared` is the most bytes that
/// rings may take. `reads` is called at most once, and returns whether the receiver can read this
/// GPU.
template <class Reads>
GpuWay gpu_way(const GpuSizes& sizes, std::int64_t size, bool direct, std::int64_t most_shared, Reads&& reads) {
  const bool forced = !direct || size < sizes.direct;
  if (!forced && reads()) return GpuWay::direct;
  if (size >= sizes.shared && size <= most_shared) return forced ? GpuWay::shared_forced : GpuWay::shared_unread;
  return forced ? GpuWay::staged_forced : GpuWay::staged_unread;
}

/// Chooses the way of a message of an MPI that reaches GPUs.
constexpr GpuWay passed_way(const GpuSizes& sizes, std::int64_t size, bool contiguous) {
  return contiguous ? GpuWay::passed : size >= sizes.passed ? GpuWay::passed_packed : GpuWay::staged_small;
}

constexpr std::string_view text(GpuWay way) { return gpu_way_text[static_cast<std::size_t>(way)]; }

}  // namespace dunnage::plan
