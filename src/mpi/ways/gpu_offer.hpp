// Device memory that other processes are told to read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mpi/message/buffer.hpp"
#include "mpi/process/gpu_use.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {

/// Where the data are, as a receiver is told, and what must live until it has them.
struct GpuOffer {
  std::vector<char> head;  // a GpuSource; empty if the data cannot be read where they are
  std::shared_ptr<const void> memory;
  std::uintptr_t address = 0;    // of memory of ours, into which the data must be packed; else 0
  transport::peers::Hold named;  // the program's memory, which the receiver must go on holding
};

/// Offers a buffer to one receiver: where it is, or in a packed copy in memory of ours. Calls no
/// error handler and does not throw.
GpuOffer gpu_offer(const memory::Buffer& buffer, std::uint32_t receiver);
/// Makes the offer's head say where the data are.
void say(GpuOffer& offer, const transport::gpu::GpuSource& source);
/// Takes device memory of ours for an offer, which says so and keeps it. Returns whether there is
/// some.
bool offer_block(const device::Driver& driver, GpuOffer& offer, std::int64_t size);

}  // namespace dunnage::mpi
