// A copy in host memory of a program's buffer in a GPU's memory, at the same places relative to the
// buffer's address: for calls that the MPI does by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "memory/host_memory.hpp"
#include "mpi/copies/shape.hpp"
#include "mpi/message/elements.hpp"
#include "pack/cpu/program.hpp"

namespace dunnage::mpi {

/// Some elements of a datatype, `offset` bytes from the buffer's address.
struct Segment {
  std::int64_t offset, count;
  MPI_Datatype type;
};

class Mirror {
 public:
  /// Nothing where all segments are in host memory, or have no bytes. Throws device::Error,
  /// type::SpecError, std::bad_alloc.
  static std::unique_ptr<Mirror> of(const device::Driver& driver, Role role, const void* buffer,
                                    std::span<const Segment> segments);

  /// In place of the buffer's address.
  void* base() const { return base_; }
  /// Gets what the MPI is to read. Throws device::Error, std::bad_alloc.
  void gather() const;
  /// Puts what the MPI has written where the program wants it, and nothing between. The same.
  void deliver() const;

 private:
  Mirror(const device::Driver& driver, Role role, const void* buffer)
      : driver_(driver), role_(role), buffer_{buffer, 1, MPI_DATATYPE_NULL} {}
  void plan(std::span<const Segment> segments);
  void learn_written(std::span<const Segment> segments);
  /// The packed bytes in between.
  void through_packed(pack::gpu::Direction direction) const;
  memory::HostMemory memory(std::size_t size, bool sparse = false) const;
  char* byte(std::int64_t offset) const { return static_cast<char*>(base_) + offset; }

  const device::Driver& driver_;
  const Role role_;
  const Elements buffer_;
  device::Place place_{};                               // of a byte that is a GPU's
  std::int64_t low_ = 0, high_ = 0, margin_ = 0;        // all bytes: [low, high), and how far the MPI may reach beyond
  bool exact_ = true;                                   // `data_` is known from the datatypes alone
  type::Placed data_;                                   // of all segments together, in whatever order
  std::shared_ptr<const pack::gpu::GpuRecipe> recipe_;  // of the same; both null where that is one block
  std::shared_ptr<const pack::Program> program_;
  memory::HostMemory memory_;
  void* base_ = nullptr;
};

}  // namespace dunnage::mpi
