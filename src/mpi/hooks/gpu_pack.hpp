// MPI_Pack and MPI_Unpack where one of the buffers is in a GPU's memory.
#pragma once

#include <optional>

#include "mpi/process/process.hpp"

#include "device/surely_host.hpp"

namespace dunnage::mpi {

/// A packing call, with all integers of the widest type.
struct PackingCall {
  Hook hook;
  bool pack;  // or unpack
  const void* user;
  std::int64_t count;
  MPI_Datatype type;
  const void* packed;
  std::int64_t size;  // bytes of the packed buffer
  std::int64_t* position;
  MPI_Comm comm;
};

/// The call's result, where one of the buffers is a GPU's; else nothing, and nothing is done.
/// Errors go through the communicator's error handler.
std::optional<int> pack_on_gpu(const device::Driver& driver, const PackingCall& call);

template <class Count>
std::optional<int> gpu_packing(Hook hook, bool pack, const void* user, Count count, MPI_Datatype type,
                               const void* packed, Count size, Count* position, MPI_Comm comm) {
  const auto* driver = device::driver();
  if (!driver || !position || process->settings.force == base::Force::never) return std::nullopt;
  std::int64_t at = *position;
  const auto result = pack_on_gpu(*driver, {hook, pack, user, count, type, packed, size, &at, comm});
  if (result) *position = static_cast<Count>(at);
  return result;
}

}  // namespace dunnage::mpi
