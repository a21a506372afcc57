#include "mpi/copies/until_synchronized.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace dunnage::mpi {

std::atomic<std::size_t> kept_copies{0};

namespace {

struct KeptUntil {
  int target;
  std::shared_ptr<Copies> copies;
};

std::mutex kept_mutex;
/// Never destroyed: calls may come from destructors at exit.
auto& by_window() {
  static auto* all = new std::unordered_map<std::uint64_t, std::vector<KeptUntil>>;
  return *all;
}

std::vector<KeptUntil> take(MPI_Win win, int target) {
  const std::lock_guard lock(kept_mutex);
  const auto found = by_window().find(key_of(win));
  if (found == by_window().end()) return {};
  std::vector<KeptUntil> taken, left;
  for (auto& kept : found->second)
    (target == every_target || kept.target == target ? taken : left).push_back(std::move(kept));
  kept_copies.fetch_sub(taken.size(), std::memory_order_relaxed);
  if (left.empty())
    by_window().erase(found);
  else
    found->second = std::move(left);
  return taken;
}

}  // namespace

void keep_until_synchronized(MPI_Win win, int target, std::shared_ptr<Copies> copies) {
  const std::lock_guard lock(kept_mutex);
  by_window()[key_of(win)].push_back({target, std::move(copies)});
  kept_copies.fetch_add(1, std::memory_order_relaxed);
}

int synchronize_kept(MPI_Win win, int target, int (*call)(void*), void* argument) {
  // What another thread begins meanwhile is not completed by this call.
  auto kept = take(win, target);
  const int rc = call(argument);
  if (rc != MPI_SUCCESS) {
    for (auto& one : kept)
      keep_until_synchronized(win, one.target, std::move(one.copies));  // the MPI may still use them
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

}  // namespace dunnage::mpi
