#include "mpi/process/farewell.hpp"

namespace dunnage::mpi {

Farewell::Farewell(int rank, Tags tags, int other_tag) : rank_(rank), tags_(std::move(tags)) {
  process->own.Irecv(nullptr, 0, MPI_BYTE, rank, other_tag, private_world(), &coming_);
}

bool Farewell::came() {
  int there = 0;
  if (coming_ != MPI_REQUEST_NULL && (process->own.Test(&coming_, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS || there))
    came_ = true;
  return came_;
}

void Farewell::say() {
  if (!tags_) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (process->own.Isend(nullptr, 0, MPI_BYTE, rank_, tags_.first(), private_world(), &request) == MPI_SUCCESS)
    process->own.Request_free(&request);
  tags_.keep();  // the other rank may never receive it
}

void Farewell::end() {
  if (coming_ == MPI_REQUEST_NULL) return;
  process->own.Cancel(&coming_);
  process->own.Wait(&coming_, MPI_STATUS_IGNORE);
}

}  // namespace dunnage::mpi
