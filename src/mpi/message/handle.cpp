#include "mpi/message/handle.hpp"

#include <utility>
#include <vector>

namespace dunnage::mpi {
namespace {

/// Handles that stand for nothing now.
std::vector<MPI_Request>& free_handles() {
  static auto* all = new std::vector<MPI_Request>;  // never destroyed, because programs may end without MPI_Finalize
  return *all;
}

int fill_status(void*, MPI_Status* status) {
  set_empty(*status);
  return MPI_SUCCESS;
}
int nothing_to_free(void*) { return MPI_SUCCESS; }
int not_cancelled(void*, int) { return MPI_SUCCESS; }

}  // namespace

void set_empty(MPI_Status& status) {
  process->own.Status_set_elements_x(&status, MPI_BYTE, 0);
  process->own.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
}

int new_handle(MPI_Request* handle) {
  return process->own.Grequest_start(fill_status, nothing_to_free, not_cancelled, nullptr, handle);
}

void end_handle(MPI_Request handle) { process->own.Grequest_complete(handle); }

int KeptHandle::take() {
  auto& free = free_handles();
  if (free.empty()) return new_handle(&handle_);
  handle_ = free.back();
  free.pop_back();
  return MPI_SUCCESS;
}

KeptHandle::~KeptHandle() {
  if (handle_ != MPI_REQUEST_NULL) free_handles().push_back(handle_);
}

void KeptHandle::end() {
  if (const auto handle = std::exchange(handle_, MPI_REQUEST_NULL); handle != MPI_REQUEST_NULL) end_handle(handle);
}

void KeptHandle::end_all() {
  for (auto& handle : std::exchange(free_handles(), {})) {
    end_handle(handle);
    process->own.Wait(&handle, MPI_STATUS_IGNORE);
  }
}

int new_persistent_handle(MPI_Request* handle) {
  // A receive that is never started. Not from MPI_PROC_NULL: after such a request has been freed,
  // the next persistent collective of MPICH 4.0.2 hangs.
  return process->own.Recv_init(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, handle);
}

}  // namespace dunnage::mpi
