// Collective file access in two halves: what the first was given lives until the second.
#pragma once

#include <memory>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// A file has one such access at a time.
void keep_until_end(MPI_File file, std::shared_ptr<Copies> copies);
/// What was kept; null where that is nothing.
std::shared_ptr<Copies> take_kept(MPI_File file);
int deliver_kept(MPI_File file, Copies& copies);

/// The second half. The buffer is not asked for: the MPI has that of the first.
template <class Fn, class Buffer>
int split_end(Hook, Fn next, MPI_File file, Buffer* buffer, MPI_Status* status) {
  const auto kept = take_kept(file);
  const int rc = next(file, buffer, status);
  return kept && rc == MPI_SUCCESS ? deliver_kept(file, *kept) : rc;
}

}  // namespace dunnage::mpi
