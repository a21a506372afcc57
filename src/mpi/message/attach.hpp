// Ties operations of ours to requests that the MPI has returned.
#pragma once

#include <memory>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// Ties an operation to the request that the MPI has just returned. Drops it if there is none.
void attach(MPI_Request request, std::unique_ptr<Request> operation);
/// Ties copies to the request that the MPI has just returned. Copies of an operation that has ended
/// already are delivered at once. `operation`: what else is to be done at the end. Returns what the
/// call is to return.
int follow(std::shared_ptr<Copies> copies, const ErrorsOf& errors, MPI_Request* request, bool persistent,
           std::unique_ptr<Request> operation = nullptr);
/// To be alive while the MPI is asked about requests whose operations stay in the table. An error
/// handler of the program may begin others then, and they may get a handle that has just ended. The
/// operation behind that handle is kept. One thread at a time.
class Asking {
 public:
  Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking();
  /// The operation behind a handle, as it was when the object was made. Null if there was none.
  /// Takes it out of the table.
  std::unique_ptr<Request> taken_out(std::uint64_t key) const;

 private:
  const std::size_t before_;  // operations that had lost their handles to others before
};

/// The MPI has returned a request of an operation that is not ours: drops what was known under a
/// handle that is used again.
void forget_request(int rc, const MPI_Request* request);

}  // namespace dunnage::mpi
