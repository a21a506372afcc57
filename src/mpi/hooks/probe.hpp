// Probes, and calls that let operations go on.
#pragma once

#include "mpi/channels/posting.hpp"
#include "mpi/message/matched.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/announcement.hpp"

namespace dunnage::mpi {

/// Probes: the message that was found may be an announcement; then its true size is told. `call()`
/// calls the MPI.
template <class Call>
int probing(MPI_Comm comm, const int* found, MPI_Status* status, Call&& call) {
  progress_orphans();
  const int rc = call();
  progress_orphans();
  if (rc == MPI_SUCCESS && found && *found) correct_probe(comm, status);
  return rc;
}
inline constexpr int always_found = 1;
template <class Fn>
int probe(Hook, Fn next, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return probing(comm, &always_found, status, [&] { return next(source, tag, comm, status); });
}
inline void taken_by_probe(MPI_Comm comm, MPI_Message message, const MPI_Status& status) {
  taken_by_probe(comm, status);
  note_matched(message, comm);
}
template <class Fn>
int mprobe(Hook, Fn next, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  StatusOr known(status);
  return probing(comm, &always_found, known.get(), [&] {
    const int rc = next(source, tag, comm, message, known.get());
    if (rc == MPI_SUCCESS) taken_by_probe(comm, *message, *known.get());
    return rc;
  });
}
template <class Fn>
int iprobe(Hook, Fn next, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return probing(comm, flag, status, [&] { return next(source, tag, comm, flag, status); });
}
template <class Fn>
int improbe(Hook, Fn next, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  StatusOr known(status);
  return probing(comm, flag, known.get(), [&] {
    const int rc = next(source, tag, comm, flag, message, known.get());
    if (rc == MPI_SUCCESS && flag && *flag) taken_by_probe(comm, *message, *known.get());
    return rc;
  });
}

/// Calls that have nothing of ours to complete but must let operations go on.
template <class Fn, class... Arguments>
int progress(Hook, Fn next, Arguments... arguments) {
  progress_orphans();
  const int rc = next(arguments...);
  progress_orphans();
  return rc;
}

}  // namespace dunnage::mpi
