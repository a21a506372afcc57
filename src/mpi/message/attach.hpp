// Ties operations of ours to requests that the MPI has returned.
#pragma once

#include <memory>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// From so many bytes on, attach() does not ask whether a send has ended. MPIs seldom complete
/// longer messages at once. To ask lets the MPI move data, which costs more than it saves: an
/// exchange of four messages of 16 KiB took 1.3 times as long on Open MPI 4.1.
inline constexpr std::int64_t never_asked = 4096;
/// Ties an operation to the request that the MPI has just returned. Drops it if there is none.
/// `bytes`: of a send, if they are known.
void attach(MPI_Request request, std::unique_ptr<Request> operation, std::int64_t bytes = 0);
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
