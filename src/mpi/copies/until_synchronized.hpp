// Copies of the origin buffers of one-sided operations live until the window is synchronized.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

inline constexpr int every_target = -1;

/// What an operation reads and writes, until the window's next synchronization with that target.
void keep_until_synchronized(MPI_Win win, int target, std::shared_ptr<Copies> copies);
extern std::atomic<std::size_t> kept_copies;

/// `call()` calls the MPI. What it completes goes where the program wants it. Returns what the call
/// is to return.
int synchronize_kept(MPI_Win win, int target, int (*call)(void*), void* argument);
template <class Call>
int synchronizing(MPI_Win win, int target, Call&& call) {
  if (kept_copies.load(std::memory_order_relaxed) == 0) return call();
  return synchronize_kept(
      win, target, [](void* it) { return (*static_cast<std::remove_reference_t<Call>*>(it))(); }, &call);
}

/// Frees the window by `next`. Copies that nothing has completed are dropped.
int free_window(MPI_Win* win, int (*next)(MPI_Win*));

}  // namespace dunnage::mpi
