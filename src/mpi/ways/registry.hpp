// All ways in which a message can be announced, the preferred one first.
#pragma once

#include <array>

#include "mpi/process/process.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

transport::Way& self_way();        // messages of a rank to itself
transport::Way& gpu_direct_way();  // the receiver's GPU reads the sender's memory
transport::Way& gpu_ring_way();    // device memory by way of rings in shared memory
transport::Way& ticket_way();      // host memory by way of shared memory

/// A new way is one more line here. A message that no way takes is packed into staging memory, or
/// is left to the MPI (mpi/ways/send.cpp).
inline const auto& ways() {
  static const std::array all = {&self_way(), &gpu_direct_way(), &gpu_ring_way(), &ticket_way()};
  return all;
}

}  // namespace dunnage::mpi
