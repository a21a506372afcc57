// What the ways `gpu_direct` and `gpu_ring` have in common: device memory by way of shared memory.
#pragma once

#include "device/pins.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/process/gpu_use.hpp"
#include "pack/gpu/short_blocks.hpp"
#include "transport/gpu/pipe.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

/// Calls f with what moves a buffer's data between their place and shared memory. `ring` is the
/// part of that memory which is used again and again.
template <class F>
auto with_pipe(pack::gpu::Direction direction, const memory::Buffer& buffer, std::span<char> ring, F&& f) {
  const auto* data = buffer.device();
  const auto* driver = device::driver();
  if (!driver || !data || !in_one_piece(*data)) {
    const auto move = [&](const char* memory, std::int64_t begin, std::int64_t end) {
      if (direction == pack::gpu::Direction::pack)
        buffer.pack(const_cast<char*>(memory), begin, end);
      else
        buffer.unpack(memory, begin, end);
    };
    return f(transport::shm::AtOnce<decltype(move)>{move});
  }
  transport::gpu::GpuPipe pipe(*driver, direction, *data, process->settings.device_piece);
  device::pin(*driver, ring.data(), ring.size(), process->settings.ticket_memory);
  return f(pipe);
}

/// Packs the data into shared memory, in which World::make_room() has made room. Returns an MPI
/// error code; the receiver is told of a failure.
int pack_shared(const transport::shm::Outgoing& outgoing, const memory::Buffer& buffer, bool travels,
                base::FunctionRef<void()> let_go_on);

/// The way of device memory to a rank of MPI_COMM_WORLD, by the plan; goes a step towards a better
/// one. `staged_...` if no announced way is possible.
plan::GpuWay gpu_way_to(const memory::Buffer& buffer, std::uint32_t receiver);
/// Whether the GPU of a rank of MPI_COMM_WORLD reads such device memory of this process, and the
/// plan wants that of `bytes` bytes; goes a step towards it.
bool read_in_place_by(std::uint32_t receiver, const pack::gpu::Described& data, std::int64_t bytes);
/// Whether a rank of MPI_COMM_WORLD reads packed copies of short blocks faster: if there are much
/// data in them, and the rank is known to use another GPU.
bool better_packed_for(std::uint32_t receiver, const pack::gpu::ShortBlocks& blocks);
/// Likewise, for a message.
bool better_packed_for(std::uint32_t receiver, const pack::gpu::Described& data);
/// As read_in_place_by() for messages of this rank to itself, whatever the plan wants.
bool read_in_place_by_this(const pack::gpu::Described& data);
/// Whether the GPU of a rank of MPI_COMM_WORLD reads device memory of this process at such a place;
/// goes a step towards it. Asks no plan.
bool reads_memory_at(std::uint32_t receiver, const device::Place& place);
/// Whether other ranks of this host ever read such memory, as far as that depends on settings.
bool others_read_memory();
/// Whether that is by rings in shared memory.
constexpr bool by_rings(plan::GpuWay way) {
  return way == plan::GpuWay::shared_forced || way == plan::GpuWay::shared_unread;
}

}  // namespace dunnage::mpi
