#include "calls/orphans.hpp"

#include <mutex>

#include "calls/arrival.hpp"

namespace dunnage::calls {

std::atomic<std::size_t> waiting_orphans{0};

namespace {

struct Orphan {
  MPI_Request request;
  std::unique_ptr<engine::Operation> operation;
};

std::mutex mutex;
std::vector<Orphan> orphans;

/// Under the lock, after a change.
void announce() {
  waiting_orphans.store(orphans.size(), std::memory_order_relaxed);
  context->attention.store(context->reporting || !orphans.empty(), std::memory_order_relaxed);
}

}  // namespace

void test_orphans() {
  std::unique_lock lock(mutex, std::try_to_lock);  // another thread is at it already
  if (!lock) return;
  std::erase_if(orphans, [](Orphan& orphan) {
    int done = 0;
    MPI_Status status;
    const bool persistent = orphan.operation->persistent;
    const int rc = context->own.Test(&orphan.request, &done, &status);
    if (rc == MPI_SUCCESS && !done) return false;
    if (rc == MPI_SUCCESS) arrive(*orphan.operation, status);  // there is nobody to tell of an error
    if (persistent && orphan.request != MPI_REQUEST_NULL) context->next.MPI_Request_free(&orphan.request);
    return true;
  });
  announce();
}

void adopt_orphan(MPI_Request request, std::unique_ptr<engine::Operation> operation) {
  const std::lock_guard lock(mutex);
  orphans.push_back({request, std::move(operation)});
  announce();
}

void finish_orphans() {
  // A correct program's partner completes them. One that never sends what was to be received would end without us,
  // so it must with us.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (waiting_orphans.load(std::memory_order_relaxed) != 0 && std::chrono::steady_clock::now() < limit) test_orphans();
  const std::lock_guard lock(mutex);
  for (auto& orphan : orphans) (void)orphan.operation.release();  // the MPI may still write there: leaked on purpose
  orphans.clear();
  announce();
}

}  // namespace dunnage::calls
