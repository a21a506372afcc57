// What is kept with an MPI window in which a rank has device memory.
//
// The window's handle is the MPI's. The MPI has made the window of host memory (a Shadow) if this
// rank's memory is a device's, and of the program's own memory if it is the host's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/function_ref.hpp"
#include "mpi/process/error.hpp"
#include "mpi/windows/moves.hpp"
#include "mpi/windows/shadow.hpp"
#include "mpi/windows/targets.hpp"

namespace dunnage::mpi {

/// A call that synchronizes a window.
struct Synchronization {
  enum class Call {
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
  } call;
  int rank = -1;                     // the target, if the call has one
  MPI_Group group = MPI_GROUP_NULL;  // post, start
  int assertion = 0;                 // lock, lock_all
  bool exclusive = false;            // lock
};

class Window {
 public:
  struct Parts {
    int rank = 0;                    // in the window's group
    std::unique_ptr<Shadow> shadow;  // null if this rank's memory is not a device's
    // Both are empty if the ranks do not know of each other.
    std::unique_ptr<Seats> seats;
    std::vector<Target> targets;
    MPI_Group group = MPI_GROUP_NULL;
    bool dynamic = false;   // MPI_Win_create_dynamic
    bool attaches = false;  // this rank may attach device memory
    bool copied = false;    // some rank has device memory that operations of others do not reach
  };
  explicit Window(Parts parts);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  /// What is to be done before and after the MPI's call. Return an MPI error code. Call no error
  /// handler.
  int before(const Synchronization& how);
  int after(const Synchronization& how);
  /// The assertion that the MPI is to be given for a lock. It needs to lock nothing that no
  /// operation of the MPI touches.
  int assertion_for_mpi(const Synchronization& how) const;

  /// The program's memory in place of the MPI's. Null if that is the same.
  void* base() const { return parts_.shadow ? parts_.shadow->device() : nullptr; }
  /// Whether the window has two copies of its memory on some rank.
  bool separate() const { return separate_; }

  /// The memory of a rank if the operation is not the MPI's. In a dynamic window `reach` becomes
  /// one from the beginning of what the rank has attached. Throws device::Error, type::SpecError.
  std::optional<Target> direct(int rank, Reach& reach) const;
  /// MPI_Win_attach and MPI_Win_detach of device memory. Whether a window takes any; whether it has
  /// done it.
  bool attaches() const { return parts_.attaches; }
  int attach(void* base, std::int64_t size);
  bool detach(const void* base);
  WindowMoves& moves() { return moves_; }
  /// Calls update() while no other rank updates that rank's memory. Returns an MPI error code.
  int updating(int rank, base::FunctionRef<int()> update);

 private:
  enum class Lock : unsigned char { none, shared, exclusive };
  bool is_there(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < held_.size(); }
  std::vector<std::uint32_t> ranks_of(MPI_Group group) const;
  int copy_before(const Synchronization& how);
  int copy_after(const Synchronization& how);
  int order_before(const Synchronization& how);
  int order_after(const Synchronization& how);
  int lock(std::uint32_t rank, bool exclusive);
  void unlock(std::uint32_t rank);

  const Parts parts_;
  bool separate_ = false;
  bool ordered_ = false;  // some operations are not the MPI's, so the ranks lock and wait by their seats
  WindowMoves moves_;
  std::mutex mutex_;
  std::vector<Lock> held_;             // by rank
  std::vector<std::uint64_t> starts_;  // by rank: how often it was started for
};

/// How many windows have a Window. While there is none, calls on windows are the MPI's.
extern std::atomic<std::size_t> window_count;
void keep_window(MPI_Win win, std::shared_ptr<Window> window);
/// Null if the window is the MPI's affair.
std::shared_ptr<Window> find_window(MPI_Win win);
void forget_window(MPI_Win win);
void forget_all_windows();

/// Calls the MPI, with what device memory needs before and after. `call` is given the assertion for
/// the MPI. Returns what the call is to return.
int synchronize_window(const Synchronization& how, MPI_Win win, base::FunctionRef<int(int)> call);
template <class Call>
int with_window(const Synchronization& how, MPI_Win win, Call&& call) {
  if (window_count.load(std::memory_order_relaxed) == 0) return call(how.assertion);
  return synchronize_window(how, win, call);
}

/// MPI_Win_get_attr: replaces what the MPI says if the program is to see something else.
void correct_attribute(MPI_Win win, int keyval, void* value);

}  // namespace dunnage::mpi
