// Which memory of a window this process' GPU reads and writes by itself, and how all ranks agree
// about that.
#pragma once

#include <memory>
#include <vector>

#include "device/ipc.hpp"
#include "memory/buffer.hpp"
#include "mpi/message/elements.hpp"
#include "mpi/windows/seats.hpp"

namespace dunnage::mpi {

/// The memory of one rank.
struct Target {
  enum class Kind : std::uint32_t {
    mpi,     // the MPI's, in host memory
    copied,  // the MPI's, with the copy in device memory at its owner
    direct,  // no operation is the MPI's
  };
  Kind kind = Kind::mpi;
  std::uintptr_t base = 0;  // where this process' GPU finds the memory
  std::int64_t size = 0;    // bytes
  std::int64_t unit = 1;    // bytes of a displacement
  device::Place place;      // of that memory, as this process' kernels use it
  std::shared_ptr<const device::Import> mapping;

  bool direct() const { return kind == Kind::direct; }
};

/// All ranks of a dynamic window call it at a time. Returns whether all other ranks read this
/// rank's device memory.
bool may_attach(Seats& seats);
/// Describes device memory that this rank attaches. Nothing if others do not reach it. Throws
/// device::Error.
std::optional<transport::gpu::AttachedMemory> attachable(const Seats& seats, void* base, std::int64_t size);

/// Where data are in a target's memory.
struct Reach {
  std::int64_t disp, count;
  MPI_Datatype type;
};
/// The memory that a rank has attached and that has the data. Changes `reach` to be from its
/// beginning. Nothing if it is the MPI's. Throws device::Error, type::SpecError.
std::optional<Target> find_attached(Seats& seats, std::uint32_t rank, Reach& reach);
/// That memory as a buffer. Returns an MPI error code if a part of the data is outside the window,
/// or if there are no data. Throws device::Error, std::bad_alloc, type::SpecError.
int buffer_in(const Target& target, const Reach& reach, memory::Buffer& buffer);

/// All ranks of the window call it at a time. Returns the memory of all ranks, and the same kinds
/// on all of them. `base`: this rank's device memory; null if its memory is the host's.
std::vector<Target> agree_on_targets(MPI_Comm comm, Seats& seats, void* base, std::int64_t size, std::int64_t unit);

}  // namespace dunnage::mpi
