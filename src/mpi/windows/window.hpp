// What is kept with an MPI window in which a rank has device memory.
//
// The window's handle is the MPI's. The MPI has made the window of host memory (a Shadow) if this
// rank's memory is a device's, and of the program's own memory if it is the host's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/function_ref.hpp"
#include "mpi/process/error.hpp"
#include "mpi/windows/shadow.hpp"

namespace dunnage::mpi {

/// What a call does to a window, as far as that concerns device memory.
enum class Synchronization {
  fence,
  post,
  start,
  complete,
  wait,  // also MPI_Win_test that succeeds
  lock,
  unlock,
  lock_all,
  unlock_all,
  flush,
  sync,  // MPI_Win_sync
  free,
};

class Window {
 public:
  Window(int rank, std::unique_ptr<Shadow> shadow) : rank_(rank), shadow_(std::move(shadow)) {}

  /// What is to be done before and after the MPI's call. `rank`: the target, if the call has one.
  /// Return an MPI error code. Call no error handler.
  int before(Synchronization what, int rank);
  int after(Synchronization what, int rank);

  /// The program's memory in place of the MPI's. Null if that is the same.
  void* base() const { return shadow_ ? shadow_->device() : nullptr; }
  /// Whether the window has two copies of its memory on some rank.
  bool separate() const { return shadow_ != nullptr; }

 private:
  const int rank_;  // in the window's group
  const std::unique_ptr<Shadow> shadow_;
};

/// How many windows have a Window. While there is none, calls on windows are the MPI's.
extern std::atomic<std::size_t> window_count;
void keep_window(MPI_Win win, std::shared_ptr<Window> window);
/// Null if the window is the MPI's affair.
std::shared_ptr<Window> find_window(MPI_Win win);
void forget_window(MPI_Win win);
void forget_all_windows();

/// Calls the MPI, with what device memory needs before and after. Returns what the call is to
/// return.
int synchronize_window(Synchronization what, MPI_Win win, int rank, base::FunctionRef<int()> call);
inline constexpr int no_rank = -1;
template <class Call>
int with_window(Synchronization what, MPI_Win win, int rank, Call&& call) {
  if (window_count.load(std::memory_order_relaxed) == 0) return call();
  return synchronize_window(what, win, rank, call);
}

/// MPI_Win_get_attr: replaces what the MPI says if the program is to see something else.
void correct_attribute(MPI_Win win, int keyval, void* value);

}  // namespace dunnage::mpi
