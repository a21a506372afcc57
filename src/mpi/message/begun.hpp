// Calls that begin an operation and fail, but report success.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Whether the MPI has begun an operation. MPICH reports success of a call that has failed if the
/// error handler says so, and gives no request. `request`: null before the call.
inline bool mpi_began(int rc, const MPI_Request* request) { return rc == MPI_SUCCESS && *request != MPI_REQUEST_NULL; }

/// The program's request while a call begins an operation: null until the MPI writes it. If the MPI
/// does not, the program's value is as it was.
class UnwrittenRequest {
 public:
  explicit UnwrittenRequest(MPI_Request* request) : request_(request), before_(request ? *request : MPI_REQUEST_NULL) {
    if (request_) *request_ = MPI_REQUEST_NULL;
  }
  UnwrittenRequest(const UnwrittenRequest&) = delete;
  UnwrittenRequest& operator=(const UnwrittenRequest&) = delete;
  ~UnwrittenRequest() {
    if (request_ && *request_ == MPI_REQUEST_NULL) *request_ = before_;
  }

 private:
  MPI_Request* const request_;
  const MPI_Request before_;
};

}  // namespace dunnage::mpi
