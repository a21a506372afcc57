// The memory that this process uses, as the system tells it.
#pragma once

#include <cstdint>

namespace bench::unexpected {

/// Begins a new peak: peak_bytes() forgets what was before. Returns whether the system allows that.
bool forget_peak();

/// Returns the most resident memory since the start or forget_peak(). Returns 0 if the system does
/// not tell.
std::int64_t peak_bytes();

/// Returns this process's part of the shared memory that it has touched: a page of two processes
/// counts half in each. The sum over the processes is what they use together. Returns 0 if the
/// system does not tell (Linux before 5.0).
std::int64_t shared_part_bytes();

}  // namespace bench::unexpected
