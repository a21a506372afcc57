#include "mpi/message/request.hpp"

#include <utility>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

base::Counter special_requests;

Request::~Request() {
  if (resting_) {
    rests(false);
    process->requests.erase(key);
  }
  if (counted_) special_requests.add(-1);
}

void Request::rests(bool yes) {
  resting_ = yes;
  process->requests.rests(yes);
  if (counted_) special_requests.add(yes ? -1 : 1);
}

Request::Start Request::start(int& code) {
  code = copies_ ? copies_->gather() : MPI_SUCCESS;
  if (code == MPI_SUCCESS) {
    const auto how = begin(code);
    if (how != Start::failed) return how;
  }
  if (code != MPI_SUCCESS) raise(errors(), code);
  return Start::failed;
}

void Request::started() {
  active = true;
  delivered = ended_ahead_ = false;
  code_ = kept_error_ = MPI_SUCCESS;
  if (copies_) copies_->begun(true);
}

void Request::not_started() {
  if (copies_) copies_->begun(false);
}

int Request::complete(MPI_Status& status, bool told) {
  if (delivered) {
    if (brings() && told) {
      // The MPI may tell no more: MPICH 5 takes a persistent request that has been asked about for
      // inactive.
      const int error = std::exchange(status.MPI_ERROR, MPI_SUCCESS);
      tells_later() ? tell(status) : void(status = status_);
      status.MPI_ERROR = error;
    }
    const int kept = std::exchange(kept_error_, MPI_SUCCESS);
    return kept != MPI_SUCCESS ? kept : brings() ? code_ : MPI_SUCCESS;
  }
  delivered = true;
  if (const int kept = std::exchange(kept_error_, MPI_SUCCESS); kept != MPI_SUCCESS) {  // the MPI's own error
    if (ending_) ending_->ended(nullptr);
    return code_ = kept;
  }
  code_ = arrive(status);
  measured_.end();
  if (!tells_later()) status_ = status;
  if (tells_later() && told) tell(status);
  if (ending_) ending_->ended(&status);
  if (copies_ && code_ == MPI_SUCCESS) code_ = copies_->deliver();
  return code_;
}

Request::News Request::ask(MPI_Request handle, MPI_Status& status) {
  if (ended_ahead_) return News::complete;
  const auto& own = process->own;
  int done = 0;
  const int code = own.Request_get_status(handle, &done, &status);
  ended_ahead_ = persistent && process->behaviour.asking_ends_persistent && (done || code != MPI_SUCCESS);
  // An MPI that is not known may not have ended it.
  if (ended_ahead_ && code == MPI_SUCCESS) own.Test(&handle, &done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    if (persistent) keep_error(code);  // MPICH 5 and Intel MPI tell it no second time
    return News::failed;
  }
  return done ? News::complete : News::none;
}

void Request::abandon(int error, const MPI_Status& status) {
  measured_.give_up();
  if (!delivered) lost(error, status);
  if (ending_ && !delivered) ending_->ended(nullptr);
  if (brings() || delivered) return;
  // A send that failed may have a receiver all the same, which reads its data.
  MPI_Status none;
  if (process->own.Status_set_cancelled(&none, 0) == MPI_SUCCESS) complete(none);
}

}  // namespace dunnage::mpi
