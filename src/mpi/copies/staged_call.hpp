// One call that the MPI does by itself, on buffers that may be in a GPU's memory: it gets copies of
// these in host memory. generate/hooks.py makes a function of these steps for each call, by
// api/buffers.toml.
#pragma once

#include <initializer_list>
#include <memory>

#include "device/driver.hpp"
#include "mpi/copies/declined.hpp"
#include "mpi/copies/shape.hpp"
#include "mpi/message/request.hpp"
#include "mpi/process/error.hpp"

namespace dunnage::mpi {

/// Whether such a call is none of our business, told at once: no driver, no report.
inline bool left_to_mpi() { return !process->reporting && !device::driver(); }

class StagedCall {
 public:
  /// `comm`: that the shapes are about, or MPI_COMM_NULL. `counted`: in the report; `types` is for
  /// that.
  StagedCall(Hook hook, const ErrorsOf& errors, MPI_Comm comm, bool counted, std::initializer_list<MPI_Datatype> types)
      : hook_(hook), errors_(errors), comm_(comm), counted_(hook, types, counted) {}

  // What the MPI is to be given for a buffer that it reads, writes, or both.
  const void* send(const void* buffer, const Shape& shape);
  void* receive(void* buffer, const Shape& shape);
  void* update(void* buffer, const Shape& shape);
  void* broadcast(void* buffer, const Shape& shape, int root);

  /// Before the call: gets what is to be read, unless that is for MPI_Start. False where something
  /// failed: error() is then what the call returns.
  bool ready(bool persistent = false);
  int error();
  bool staged() const { return static_cast<bool>(copies_); }

  // After it. `rc`: what the MPI returned. Return what the call is to return.
  int ended(int rc);  // it is over
  int begun(int rc, MPI_Request* request,
            bool persistent,  // its request tells when; `watched`: what else is to be done then
            std::unique_ptr<Request> watched = nullptr);
  int partitions_begun(int rc, MPI_Request* request, int partitions, bool sends);
  int until_synchronized(int rc, MPI_Win win, int target);  // the window's next synchronization with that rank does
  int until_end(int rc, MPI_File file);                     // its second half does

 private:
  void* stage(Role role, const void* buffer, const Shape& shape) noexcept;

  const Hook hook_;
  const ErrorsOf errors_;
  const MPI_Comm comm_;
  Declined counted_;
  bool in_place_ = false;
  int failure_ = MPI_SUCCESS;
  std::shared_ptr<Copies> copies_;
};

}  // namespace dunnage::mpi
