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
using WindowCall = Synchronization::Call;

template <class Fn>
int fence(Hook, Fn next, int assertion, MPI_Win win) {
  return with_window({.call = WindowCall::fence}, win,
                     [&](int) { return synchronizing(win, every_target, [&] { return next(assertion, win); }); });
}
template <class Fn>
int window_post(Hook, Fn next, MPI_Group group, int assertion, MPI_Win win) {
  return with_window({.call = WindowCall::post, .group = group}, win, [&](int) { return next(group, assertion, win); });
}
template <class Fn>
int window_start(Hook, Fn next, MPI_Group group, int assertion, MPI_Win win) {
  return with_window({.call = WindowCall::start, .group = group}, win,
                     [&](int) { return next(group, assertion, win); });
}
template <class Fn>
int window_wait(Hook, Fn next, MPI_Win win) {
  return with_window({.call = WindowCall::wait}, win, [&](int) { return next(win); });
}
template <class Fn>
int window_test(Hook, Fn next, MPI_Win win, int* flag) {
  const int rc = next(win, flag);
  if (rc != MPI_SUCCESS || !*flag) return rc;
  return with_window({.call = WindowCall::wait}, win, [](int) { return MPI_SUCCESS; });
}
template <class Fn>
int window_lock(Hook, Fn next, int type, int rank, int assertion, MPI_Win win) {
  const bool exclusive = type == MPI_LOCK_EXCLUSIVE;
  return with_window({.call = WindowCall::lock, .rank = rank, .assertion = assertion, .exclusive = exclusive}, win,
                     [&](int known) { return next(type, rank, known, win); });
}
template <class Fn>
int window_lock_all(Hook, Fn next, int assertion, MPI_Win win) {
  return with_window({.call = WindowCall::lock_all, .assertion = assertion}, win,
                     [&](int known) { return next(known, win); });
}
template <class Fn>
int window_sync(Hook, Fn next, MPI_Win win) {
  return with_window({.call = WindowCall::sync}, win, [&](int) { return next(win); });
}
template <class Fn>
int synchronize(Hook hook, Fn next, MPI_Win win) {
  const auto what = hook == Hook::MPI_Win_complete     ? WindowCall::complete
                    : hook == Hook::MPI_Win_unlock_all ? WindowCall::unlock_all
                                                       : WindowCall::flush;
  return with_window({.call = what}, win,
                     [&](int) { return synchronizing(win, every_target, [&] { return next(win); }); });
}
template <class Fn>
int synchronize_with(Hook hook, Fn next, int rank, MPI_Win win) {
  const auto what = hook == Hook::MPI_Win_unlock ? WindowCall::unlock : WindowCall::flush;
  return with_window({.call = what, .rank = rank}, win,
                     [&](int) { return synchronizing(win, rank, [&] { return next(rank, win); }); });
}
// What is copied back is gone, and MPICH 4.0 calls a get that a put follows locally complete before
// its data is there: so it is flushed.
template <class Fn>
int flush_local(Hook, Fn next, int rank, MPI_Win win) {
  const bool kept = kept_copies.load(std::memory_order_relaxed) != 0;
  return with_window({.call = WindowCall::flush, .rank = rank}, win, [&](int) {
    return synchronizing(win, rank, [&] {
      const int rc = next(rank, win);
      return kept && rc == MPI_SUCCESS ? process->own.Win_flush(rank, win) : rc;
    });
  });
}
template <class Fn>
int flush_local_all(Hook, Fn next, MPI_Win win) {
  const bool kept = kept_copies.load(std::memory_order_relaxed) != 0;
  return with_window({.call = WindowCall::flush}, win, [&](int) {
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
  return make_window(hook, base, size, std::int64_t{unit}, comm, win,
                     [&](void* memory, MPI_Aint bytes) { return next(memory, bytes, unit, info, comm, win); });
}
template <class Fn>
int window_attach(Hook hook, Fn next, MPI_Win win, void* base, MPI_Aint size) {
  if (surely_host(base) || !beyond_mpi(base, size)) return next(win, base, size);
  return attach_to_window(hook, win, base, size);
}
template <class Fn>
int window_detach(Hook, Fn next, MPI_Win win, const void* base) {
  const bool ours = window_count.load(std::memory_order_relaxed) != 0 && detach_from_window(win, base);
  return ours ? MPI_SUCCESS : next(win, base);
}
template <class Fn>
int window_create_dynamic(Hook, Fn next, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return make_dynamic_window(comm, win, [&] { return next(info, comm, win); });
}
template <class Fn>
int window_attribute(Hook, Fn next, MPI_Win win, int keyval, void* value, int* flag) {
  const int rc = next(win, keyval, value, flag);
  if (rc == MPI_SUCCESS && *flag && window_count.load(std::memory_order_relaxed) != 0)
    correct_attribute(win, keyval, value);
  return rc;
}

}  // namespace dunnage::mpi
