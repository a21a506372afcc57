// The caller's statuses, or our own where the caller wants none: we need the number of bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "calls/mpi_table.hpp"

namespace dunnage::calls {

class StatusOr {
 public:
  explicit StatusOr(MPI_Status* users) : status_(users == MPI_STATUS_IGNORE ? &own_ : users) {}
  StatusOr(const StatusOr&) = delete;
  StatusOr& operator=(const StatusOr&) = delete;
  MPI_Status* get() { return status_; }
  const MPI_Status& operator*() const { return *status_; }

 private:
  MPI_Status own_;
  MPI_Status* status_;
};

class StatusesOr {
 public:
  StatusesOr(int count, MPI_Status* users) : statuses_(users) {
    if (users != MPI_STATUSES_IGNORE) return;
    own_.resize(static_cast<std::size_t>(std::max(count, 1)));
    statuses_ = own_.data();
  }
  StatusesOr(const StatusesOr&) = delete;
  StatusesOr& operator=(const StatusesOr&) = delete;
  MPI_Status* get() { return statuses_; }
  const MPI_Status& operator[](int i) const { return statuses_[i]; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* statuses_;
};

}  // namespace dunnage::calls
