// The windows of this process by their handles.
#include <mutex>
#include <unordered_map>

#include "mpi/windows/window.hpp"

namespace dunnage::mpi {

std::atomic<std::size_t> window_count{0};

namespace {

std::mutex windows_mutex;
using Known = std::unordered_map<std::uint64_t, std::shared_ptr<Window>>;
/// Never destroyed: calls may come from destructors at exit.
Known& by_handle() {
  static auto* all = new Known;
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
  Known all;
  const std::lock_guard lock(windows_mutex);
  all.swap(by_handle());
  window_count.store(0, std::memory_order_relaxed);
}

}  // namespace dunnage::mpi
