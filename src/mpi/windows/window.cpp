#include "mpi/windows/window.hpp"

#include <mutex>
#include <unordered_map>

#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

std::atomic<std::size_t> window_count{0};

namespace {

std::mutex windows_mutex;
/// Never destroyed: calls may come from destructors at exit.
auto& by_handle() {
  static auto* all = new std::unordered_map<std::uint64_t, std::shared_ptr<Window>>;
  return *all;
}

}  // namespace

void keep_window(MPI_Win win, std::shared_ptr<Window> window) {
  const std::lock_guard lock(windows_mutex);
  by_handle()[key_of(win)] = std::move(window);
  window_count.store(by_handle().size(), std::memory_order_relaxed);
}

std::shared_ptr<Window> find_window(MPI_Win win) {
  const std::lock_guard lock(windows_mutex);
  const auto found = by_handle().find(key_of(win));
  return found == by_handle().end() ? nullptr : found->second;
}

void forget_window(MPI_Win win) {
  std::shared_ptr<Window> last;  // ends without the lock
  const std::lock_guard lock(windows_mutex);
  if (const auto found = by_handle().find(key_of(win)); found != by_handle().end()) {
    last = std::move(found->second);
    by_handle().erase(found);
  }
  window_count.store(by_handle().size(), std::memory_order_relaxed);
}

void forget_all_windows() {
  const std::lock_guard lock(windows_mutex);
  by_handle().clear();
  window_count.store(0, std::memory_order_relaxed);
}

// MPI 4.1, section 12.7, rules 4 to 6: at which calls of the owner an update of one copy becomes
// visible in the other.
int Window::before(Synchronization what, int rank) {
  if (!shadow_) return MPI_SUCCESS;
  switch (what) {
    case Synchronization::unlock:
      if (rank != rank_) return MPI_SUCCESS;
      [[fallthrough]];
    case Synchronization::fence:
    case Synchronization::post:
    case Synchronization::unlock_all:
    case Synchronization::sync: return guarded([&] { shadow_->publish(); });
    default: return MPI_SUCCESS;
  }
}

int Window::after(Synchronization what, int rank) {
  if (!shadow_) return MPI_SUCCESS;
  switch (what) {
    case Synchronization::lock:
    case Synchronization::unlock:
      if (rank != rank_) return MPI_SUCCESS;
      [[fallthrough]];
    case Synchronization::fence:
    case Synchronization::wait:
    case Synchronization::lock_all:
    case Synchronization::unlock_all:
    case Synchronization::sync:
    case Synchronization::free: return guarded([&] { shadow_->fetch(); });
    default: return MPI_SUCCESS;
  }
}

int synchronize_window(Synchronization what, MPI_Win win, int rank, base::FunctionRef<int()> call) {
  const auto window = find_window(win);
  if (!window) return call();
  // Other ranks wait for this one in the MPI, so the MPI is called whatever fails here.
  int code = window->before(what, rank);
  const int rc = call();
  if (rc != MPI_SUCCESS) return rc;
  if (const int failed = window->after(what, rank); failed != MPI_SUCCESS) code = failed;
  return code == MPI_SUCCESS ? rc : raise(errors_of_win(win), code);
}

void correct_attribute(MPI_Win win, int keyval, void* value) {
  const auto window = find_window(win);
  if (!window) return;
  if (keyval == MPI_WIN_BASE && window->base()) *static_cast<void**>(value) = window->base();
  static int separate = MPI_WIN_SEPARATE;
  if (keyval == MPI_WIN_MODEL && window->separate()) *static_cast<int**>(value) = &separate;
}

}  // namespace dunnage::mpi
