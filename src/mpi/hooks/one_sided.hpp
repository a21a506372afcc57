// One-sided communication with device memory. Copies of origin buffers live until the window is
// synchronized; windows themselves must be in memory that the host reaches.
#pragma once

#include "device/surely_host.hpp"
#include "mpi/copies/until_synchronized.hpp"
#include "mpi/process/error.hpp"

namespace dunnage::mpi {

using device::surely_host;

template <class Fn>
int fence(Hook, Fn next, int assertion, MPI_Win win) {
  return synchronizing(win, every_target, [&] { return next(assertion, win); });
}
template <class Fn>
int synchronize(Hook, Fn next, MPI_Win win) {
  return synchronizing(win, every_target, [&] { return next(win); });
}
template <class Fn>
int synchronize_with(Hook, Fn next, int rank, MPI_Win win) {
  return synchronizing(win, rank, [&] { return next(rank, win); });
}
// What is copied back is gone, and MPICH 4.0 calls a get that a put follows locally complete before
// its data is there: so it is flushed.
template <class Fn>
int flush_local(Hook, Fn next, int rank, MPI_Win win) {
  const bool kept = kept_copies.load(std::memory_order_relaxed) != 0;
  return synchronizing(win, rank, [&] {
    const int rc = next(rank, win);
    return kept && rc == MPI_SUCCESS ? process->own.Win_flush(rank, win) : rc;
  });
}
template <class Fn>
int flush_local_all(Hook, Fn next, MPI_Win win) {
  const bool kept = kept_copies.load(std::memory_order_relaxed) != 0;
  return synchronizing(win, every_target, [&] {
    const int rc = next(win);
    return kept && rc == MPI_SUCCESS ? process->own.Win_flush_all(win) : rc;
  });
}

template <class Fn>
int window_free(Hook, Fn next, MPI_Win* win) {
  if (!win || kept_copies.load(std::memory_order_relaxed) == 0) return next(win);
  return free_window(win, next);
}

/// Whether a window's memory is a device's, and the MPI does not reach that.
bool refused(const void* base, MPI_Aint size);
/// The error for that. `win`: null at its making.
int refuse_window(Hook hook, const ErrorsOf& errors);
/// Host memory in place of a window's, so that the other ranks' call need not wait for this one's;
/// null where there is none. The window lives until finish_windows().
void* stand_in(MPI_Aint size);
void keep_window(MPI_Win win);
/// Frees those that the program was not given, at MPI_Finalize.
void finish_windows();

template <class Fn, class Unit>
int window_create(Hook hook, Fn next, void* base, MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win) {
  if (surely_host(base) || !refused(base, size)) return next(base, size, unit, info, comm, win);
  void* instead = stand_in(size);
  const int rc = next(instead, instead ? size : 0, unit, info, comm, win);
  if (rc != MPI_SUCCESS) return rc;
  keep_window(*win);
  *win = MPI_WIN_NULL;
  return refuse_window(hook, errors_of_comm(comm));
}
template <class Fn>
int window_attach(Hook hook, Fn next, MPI_Win win, void* base, MPI_Aint size) {
  if (surely_host(base) || !refused(base, size)) return next(win, base, size);
  return refuse_window(hook, errors_of_win(win));
}

}  // namespace dunnage::mpi
