// The user's buffer of a message as a memory::Buffer: which kind of memory it is in and who packs
// it.
#pragma once

#include <optional>

#include "memory/landing.hpp"
#include "mpi/message/elements.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/types.hpp"

namespace dunnage::mpi {

/// The data in a GPU's memory. Nothing if they are in host memory or there is no driver. Covers
/// datatypes that only the MPI packs. Throws device::Error, std::bad_alloc, type::SpecError.
std::optional<memory::Buffer> on_gpu(const void* buffer, std::int64_t count, MPI_Datatype type, const KnownType* known);
/// Makes `buffer` of data in device memory at `place`, which may be mapped memory of another
/// process. Returns where its bytes are, or nothing if there are none. Throws what on_gpu() throws.
std::optional<Extent> placed_on_gpu(const device::Driver& driver, const Elements& user, device::Place place,
                                    memory::Buffer& buffer);
/// Whether data in a GPU's memory lie in one piece.
bool contiguous_on_gpu(const memory::Buffer& buffer);
/// Whether an address is in the memory of a device for which this installation has no kernels. Such
/// data are left to the MPI. Costs a nanosecond if there are kernels.
bool beyond_us(const void* address);
/// Whether the host must not touch an address. Costs a few nanoseconds without a driver.
bool on_device(const void* address);

/// The user's buffer of a receive or of a broadcast, whatever its kind. Touches none of it. Throws
/// std::bad_alloc, device::Error.
memory::Buffer buffer_of(void* user, std::int64_t count, MPI_Datatype type);
/// A buffer that the MPI packs and unpacks, whatever the datatype is. Throws std::bad_alloc.
memory::Buffer buffer_by_mpi(void* user, std::int64_t count, MPI_Datatype type);

}  // namespace dunnage::mpi
