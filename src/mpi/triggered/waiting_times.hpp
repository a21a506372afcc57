// How long an exchange takes by kernels and by memory operations, measured on the GPU at hand.
#pragma once

#include <cstdint>
#include <optional>

#include "device/gpu.hpp"

namespace dunnage::mpi {

/// Microseconds of one small exchange, host and GPU together.
struct WaitingTimes {
  double kernels = 0, operations = 0;
};

/// Measures in the current context, in a stream of our own, for about a millisecond. The result is
/// kept for each `device` (device::identity_of). Nothing if the GPU does not get to the kernels
/// within 50 ms, because another kernel fills it. The kernels must be loaded (means_of()). Throws
/// device::Error. Thread-safe.
std::optional<WaitingTimes> waiting_times(const device::Driver& driver, device::Gpu& gpu, std::uint64_t device);

}  // namespace dunnage::mpi
