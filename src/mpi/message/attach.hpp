// Ties operations of ours to requests that the MPI has returned.
#pragma once

#include <memory>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// From so many bytes on, attach() does not ask the MPI whether a send has ended. Few sends of that
/// length complete at once. A question lets the MPI move data in the middle of an exchange: on Open
/// MPI 4.1 an exchange of four messages of 16 KiB then took 1.3 times as long.
#if defined(OPEN_MPI)
inline constexpr std::int64_t never_asked = 4 << 10;
#else
inline constexpr std::int64_t never_asked = 16 << 10;
#endif
/// Ties an operation to the request that the MPI has just returned. Drops it if there is none.
/// `bytes`: of a send that the MPI does not buffer; else 0.
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
