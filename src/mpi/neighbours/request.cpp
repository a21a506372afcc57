#include "mpi/neighbours/request.hpp"

#include "mpi/message/handle.hpp"

namespace dunnage::mpi {

Request::Start NeighbourRequest::begin(int& code) {
  if (way_->orphaned()) raise_on(errors_of_comm(MPI_COMM_WORLD));
  code = new_handle(&handle_);
  if (code != MPI_SUCCESS) return Start::failed;
  code = way_->start();
  if (code != MPI_SUCCESS) {
    end_handle(handle_);
    process->own.Wait(&handle_, MPI_STATUS_IGNORE);
    return Start::failed;
  }
  ended_ = false;
  inner = handle_;
  return Start::done;
}

bool NeighbourRequest::go_on() {
  if (ended_) return true;
  if (!way_->test()) return false;
  end(way_->code());
  return true;
}

void NeighbourRequest::finish() {
  if (!ended_) end(way_->wait());
}

void NeighbourRequest::end(int code) {
  code_ = code;
  ended_ = true;
  if (way_->orphaned()) raise_on(errors_of_comm(MPI_COMM_WORLD));
  end_handle(handle_);
}

}  // namespace dunnage::mpi
