// Data from one buffer of this process to another, from layout to layout in one copy or by one
// kernel.
#pragma once

#include <functional>
#include <optional>

#include "mpi/message/fetch_batch.hpp"

namespace dunnage::mpi {

/// Where kernels of one device reach both buffers: the context to work in. Nothing if none does.
/// Throws device::Error.
std::optional<CUcontext> common_context(const memory::Buffer& from, const memory::Buffer& to);

/// Copies between layouts of which at least one is in host memory, or by way of host memory. Throws
/// device::Error, std::bad_alloc.
void copy_by_host(const memory::Buffer& from, const memory::Landing& landing, std::int64_t bytes);

/// Copies at once or, if one device reaches both buffers and the thread has a FetchBatch, by the
/// batch. Calls ended() once, when the buffers are not needed any more; they must live until then.
/// Returns an MPI error code.
int copy_within(const memory::Buffer& from, const memory::Landing& landing, std::int64_t bytes,
                std::function<void()> ended);

}  // namespace dunnage::mpi
