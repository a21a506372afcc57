#include "calls/one_sided.hpp"

#include <sys/mman.h>

#include <mutex>
#include <unordered_map>
#include <vector>

#include "calls/accept.hpp"
#ifdef DUNNAGE_CUDA
#include "calls/gpu_error.hpp"
#endif

namespace dunnage::calls {

std::atomic<std::size_t> kept_copies{0};

namespace {

struct Kept {
  int target;
  std::shared_ptr<engine::Copies> copies;
};

std::mutex windows_mutex;
/// Never destroyed: calls may come from destructors at exit.
auto& by_window() {
  static auto* all = new std::unordered_map<std::uint64_t, std::vector<Kept>>;
  return *all;
}
std::vector<MPI_Win> windows;  // that the program was not given

std::vector<Kept> take(MPI_Win win, int target) {
  const std::lock_guard lock(windows_mutex);
  const auto found = by_window().find(key_of(win));
  if (found == by_window().end()) return {};
  std::vector<Kept> taken, left;
  for (auto& kept : found->second) (target == every_target || kept.target == target ? taken : left).push_back(std::move(kept));
  kept_copies.fetch_sub(taken.size(), std::memory_order_relaxed);
  if (left.empty())
    by_window().erase(found);
  else
    found->second = std::move(left);
  return taken;
}

}  // namespace

void keep_until_synchronized(MPI_Win win, int target, std::shared_ptr<engine::Copies> copies) {
  const std::lock_guard lock(windows_mutex);
  by_window()[key_of(win)].push_back({target, std::move(copies)});
  kept_copies.fetch_add(1, std::memory_order_relaxed);
}

int synchronize_kept(MPI_Win win, int target, int (*call)(void*), void* argument) {
  // What another thread begins meanwhile is not completed by this call.
  auto kept = take(win, target);
  const int rc = call(argument);
  if (rc != MPI_SUCCESS) {
    for (auto& one : kept) keep_until_synchronized(win, one.target, std::move(one.copies));  // the MPI may still use them
    return rc;
  }
  int failed = MPI_SUCCESS;
  for (const auto& one : kept)
    if (const int error = one.copies->deliver(); error != MPI_SUCCESS) failed = error;
  return failed == MPI_SUCCESS ? rc : raise(errors_of_win(win), failed);
}

int free_window(MPI_Win* win, int (*next)(MPI_Win*)) {
  const auto kept = take(*win, every_target);
  const auto before = *win;
  const int rc = next(win);
  if (rc != MPI_SUCCESS)
    for (const auto& one : kept) keep_until_synchronized(before, one.target, one.copies);
  return rc;
}

bool refused([[maybe_unused]] const void* base, [[maybe_unused]] MPI_Aint size) {
  return size > 0 && context->settings.force != base::Force::never && on_device(base) && !context->mpi_knows_gpus();
}

int refuse_window([[maybe_unused]] Hook hook, const ErrorsOf& errors) {
#ifdef DUNNAGE_CUDA
  const device::Error error(CUDA_ERROR_INVALID_VALUE,
                            std::string(hook_names[static_cast<std::size_t>(hook)]) + " takes host memory only: make the window of host memory");
  context->count(hook, plan::Reason::device_error);
  return raise(errors, code_of(error));
#else
  return raise(errors, MPI_ERR_BUFFER);
#endif
}

void* stand_in(MPI_Aint size) {
  void* there = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return there == MAP_FAILED ? nullptr : there;
}

void keep_window(MPI_Win win) {
  context->own.Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const std::lock_guard lock(windows_mutex);
  windows.push_back(win);
}

void finish_windows() {
  for (auto& win : windows) context->own.Win_free(&win);
  windows.clear();
}

}  // namespace dunnage::calls
