// One-sided communication with device memory. Copies of origin buffers live until the window is
// synchronized (mpi/copies), and windows may be in device memory themselves (mpi/windows).
#pragma once

#include "device/surely_host.hpp"
#include "mpi/copies/until_synchronized.hpp"
#include "mpi/process/error.hpp"
#include "mpi/windows/make.hpp"
#include "mpi/windows/window.hpp"

namespace dunnage::mpi {

using device::surely_host;

template <class Fn>
int fence(Hook, Fn next, int assertion, MPI_Win win) {
  return with_window(Synchronization::fence, win, no_rank,
                     [&] { return synchronizing(win, every_target, [&] { return next(assertion, win); }); });
}
template <class Fn>
int window_post(Hook, Fn next, MPI_Group group, int assertion, MPI_Win win) {
  return with_window(Synchronization::post, win, no_rank, [&] { return next(group, assertion, win); });
}
template <class Fn>
int window_start(Hook, Fn next, MPI_Group group, int assertion, MPI_Win win) {
  return with_window(Synchronization::start, win, no_rank, [&] { return next(group, assertion, win); });
}
template <class Fn>
int window_wait(Hook, Fn next, MPI_Win win) {
  return with_window(Synchronization::wait, win, no_rank, [&] { return next(win); });
}
template <class Fn>
int window_test(Hook, Fn next, MPI_Win win, int* flag) {
  const int rc = next(win, flag);
  if (rc != MPI_SUCCESS || !*flag) return rc;
  return with_window(Synchronization::wait, win, no_rank, [] { return MPI_SUCCESS; });
}
template <class Fn>
int window_lock(Hook, Fn next, int type, int rank, int assertion, MPI_Win win) {
  return with_window(Synchronization::lock, win, rank, [&] { return next(type, rank, assertion, win); });
}
template <class Fn>
int window_lock_all(Hook, Fn next, int assertion, MPI_Win win) {
  return with_window(Synchronization::lock_all, win, no_rank, [&] { return next(assertion, win); });
}
template <class Fn>
int window_sync(Hook, Fn next, MPI_Win win) {
  return with_window(Synchronization::sync, win, no_rank, [&] { return next(win); });
}
template <class Fn>
int synchronize(Hook hook, Fn next, MPI_Win win) {
  const auto what = hook == Hook::MPI_Win_complete     ? Synchronization::complete
                    : hook == Hook::MPI_Win_unlock_all ? Synchronization::unlock_all
                                                       : Synchronization::flush;
  return with_window(what, win, no_rank, [&] { return synchronizing(win, every_target, [&] { return next(win); }); });
}
template <class Fn>
int synchronize_with(Hook hook, Fn next, int rank, MPI_Win win) {
  const auto what = hook == Hook::MPI_Win_unlock ? Synchronization::unlock : Synchronization::flush;
  return with_window(what, win, rank, [&] { return synchronizing(win, rank, [&] { return next(rank, win); }); });
}
// What is copied back is gone, and MPICH 4.0 calls a get that a put follows locally complete before
// its data is there: so it is flushed.
template <class Fn>
int flush_local(Hook, Fn next, int rank, MPI_Win win) {
  const bool kept = kept_copies.load(std::memory_order_relaxed) != 0;
  return with_window(Synchronization::flush, win, rank, [&] {
    return synchronizing(win, rank, [&] {
      const int rc = next(rank, win);
      return kept && rc == MPI_SUCCESS ? process->own.Win_flush(rank, win) : rc;
    });
  });
}
template <class Fn>
int flush_local_all(Hook, Fn next, MPI_Win win) {
  const bool kept = kept_copies.load(std::memory_order_relaxed) != 0;
  return with_window(Synchronization::flush, win, no_rank, [&] {
    return synchronizing(win, every_target, [&] {
      const int rc = next(win);
      return kept && rc == MPI_SUCCESS ? process->own.Win_flush_all(win) : rc;
    });
  });
}

template <class Fn>
int window_free(Hook, Fn next, MPI_Win* win) {
  const bool nothing =
      kept_copies.load(std::memory_order_relaxed) == 0 && window_count.load(std::memory_order_relaxed) == 0;
  if (!win || nothing) return next(win);
  return end_window(win, [&] { return free_window(win, next); });
}

template <class Fn, class Unit>
int window_create(Hook hook, Fn next, void* base, MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win) {
  return make_window(hook, base, size, comm, win,
                     [&](void* memory, MPI_Aint bytes) { return next(memory, bytes, unit, info, comm, win); });
}
template <class Fn>
int window_attach(Hook hook, Fn next, MPI_Win win, void* base, MPI_Aint size) {
  if (surely_host(base) || !beyond_mpi(base, size)) return next(win, base, size);
  return refuse_window(hook, errors_of_win(win));
}
template <class Fn>
int window_attribute(Hook, Fn next, MPI_Win win, int keyval, void* value, int* flag) {
  const int rc = next(win, keyval, value, flag);
  if (rc == MPI_SUCCESS && *flag && window_count.load(std::memory_order_relaxed) != 0)
    correct_attribute(win, keyval, value);
  return rc;
}

}  // namespace dunnage::mpi
