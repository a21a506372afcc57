#include "mpi/message/orphans.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include "mpi/process/status.hpp"
#include "mpi/process/world_returns_errors.hpp"

namespace dunnage::mpi {

std::atomic<std::size_t> waiting_orphans{0};

namespace {

struct Orphan {
  MPI_Request request;
  std::unique_ptr<Request> operation;
};

std::mutex orphans_mutex;
std::vector<Orphan> orphans;

/// Adds `change` to the number of orphans.
void announce(std::ptrdiff_t change) {
  const auto added = static_cast<std::size_t>(change);
  const auto waiting = waiting_orphans.fetch_add(added, std::memory_order_relaxed) + added;
  process->attention.store(process->reporting || waiting != 0, std::memory_order_relaxed);
}

/// Of a receive: whether it has ended, and how. MPI_Test would tell an error handler of an error.
Request::News ask(const Orphan& orphan) {
  const WorldReturnsErrors guard;
  MPI_Status status;
  const auto news = orphan.operation->ask(orphan.request, status);
  // Open MPI returns no error then, and tells the length of what had no room.
  const bool complete = news == Request::News::complete;
  return complete && orphan.operation->has_no_room_for(told_bytes(status)) ? Request::News::failed : news;
}

/// Returns whether an orphan has ended. There is nobody to tell of an error.
bool test(Orphan& orphan) {
  auto& operation = *orphan.operation;
  const bool persistent = operation.persistent, several = operation.several();
  if (several && !operation.go_on()) return false;
  if (operation.receives() && !persistent && !several) {
    const auto news = ask(orphan);
    if (news == Request::News::failed) process->own.Request_free(&orphan.request);
    if (news != Request::News::complete) return news == Request::News::failed;
  }
  int done = 0;
  MPI_Status status;
  const auto asked = orphan.request;
  const int rc = process->own.Test(&orphan.request, &done, &status);
  if (orphan.request == MPI_REQUEST_NULL) operation.gone(asked);
  if (rc == MPI_SUCCESS && !done) return false;
  if (rc == MPI_SUCCESS) operation.complete(status);
  if (persistent && orphan.request != MPI_REQUEST_NULL) process->next.MPI_Request_free(&orphan.request);
  return true;
}

}  // namespace

void test_orphans() {
  static thread_local bool inside = false;  // an orphan of several messages completes their requests
  if (inside) return;
  std::unique_lock lock(orphans_mutex, std::try_to_lock);  // another thread may be at it already
  if (!lock) return;
  inside = true;
  const auto ended = std::erase_if(orphans, [](Orphan& orphan) { return test(orphan); });
  inside = false;
  announce(-static_cast<std::ptrdiff_t>(ended));
}

void adopt_orphan(MPI_Request request, std::unique_ptr<Request> operation) {
  const std::lock_guard lock(orphans_mutex);
  orphans.push_back({request, std::move(operation)});
  announce(1);
}

void finish_orphans() {
  // The partner of a correct program completes them. A program whose partner never sends what was
  // to be received ends without Dunnage, so it must end with Dunnage too.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto left = [&] {
    const std::lock_guard lock(orphans_mutex);
    if (std::chrono::steady_clock::now() < limit) return !orphans.empty();
    return std::any_of(orphans.begin(), orphans.end(), [](const auto& one) { return one.operation->promised(); });
  };
  while (left()) test_orphans();
  const std::lock_guard lock(orphans_mutex);
  // The MPI may still write to their memory, so it is never freed.
  for (auto& orphan : orphans) (void)orphan.operation.release();
  announce(-static_cast<std::ptrdiff_t>(orphans.size()));
  orphans.clear();
}

}  // namespace dunnage::mpi
