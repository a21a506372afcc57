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

std::mutex orphans_mutex, streams_mutex;
std::vector<Orphan> orphans;
std::vector<std::shared_ptr<OutgoingStream>> streams;

/// After a change of either by so many.
void announce(std::ptrdiff_t change) {
  const auto waiting = waiting_orphans.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed) + static_cast<std::size_t>(change);
  context->attention.store(context->reporting || waiting != 0, std::memory_order_relaxed);
}

void test_streams() {
  const std::unique_lock lock(streams_mutex, std::try_to_lock);
  if (lock) announce(-static_cast<std::ptrdiff_t>(std::erase_if(streams, [](const auto& stream) { return stream->done(); })));
}

}  // namespace

void test_orphans() {
  test_streams();
  std::unique_lock lock(orphans_mutex, std::try_to_lock);  // another thread is at it already
  if (!lock) return;
  const auto ended = std::erase_if(orphans, [](Orphan& orphan) {
    int done = 0;
    MPI_Status status;
    const bool persistent = orphan.operation->persistent;
    const int rc = context->own.Test(&orphan.request, &done, &status);
    if (rc == MPI_SUCCESS && !done) return false;
    if (rc == MPI_SUCCESS) arrive(*orphan.operation, status);  // there is nobody to tell of an error
    if (persistent && orphan.request != MPI_REQUEST_NULL) context->next.MPI_Request_free(&orphan.request);
    return true;
  });
  announce(-static_cast<std::ptrdiff_t>(ended));
}

void adopt_orphan(MPI_Request request, std::unique_ptr<engine::Operation> operation) {
  const std::lock_guard lock(orphans_mutex);
  orphans.push_back({request, std::move(operation)});
  announce(1);
}

void finish_stream(std::shared_ptr<OutgoingStream> stream) {
  if (stream->done()) return;
  const std::lock_guard lock(streams_mutex);
  streams.push_back(std::move(stream));
  announce(1);
}

bool no_streams_left() {
  test_streams();
  const std::lock_guard lock(streams_mutex);
  return streams.empty();
}

void finish_orphans() {
  // A correct program's partner completes them. One that never sends what was to be received would end without us,
  // so it must with us.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto left = [] {
    const std::lock_guard lock(orphans_mutex);
    return !orphans.empty();
  };
  while (left() && std::chrono::steady_clock::now() < limit) test_orphans();
  const std::lock_guard lock(orphans_mutex);
  for (auto& orphan : orphans) (void)orphan.operation.release();  // the MPI may still write there: leaked on purpose
  announce(-static_cast<std::ptrdiff_t>(orphans.size()));
  orphans.clear();
}

}  // namespace dunnage::calls
