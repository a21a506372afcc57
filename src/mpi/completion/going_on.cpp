// How the operations of a call go on until the call may return.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>

#include "mpi/completion/own_operations.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

/// Once in so many rounds without news a call looks at receives that it is not about.
constexpr unsigned rounds_between = 8;

/// So many calls complete requests without the MPI before one lets it make progress.
constexpr unsigned calls_between = 16;
std::atomic<unsigned> calls_without_mpi{0};

/// After a call without the MPI, which may have to move what other ranks wait for. `done`: the
/// call has completed what the program asks for, and need not come again.
void let_mpi_progress_after(bool done) {
  if (!done || calls_without_mpi.fetch_add(1, std::memory_order_relaxed) % calls_between == 0) let_mpi_progress();
}

}  // namespace

/// What has come of different operations goes together.
void OwnOperations::fetch_parts() {
  const auto has_parts = [](const Request& o) { return under_way(o) && o.has_parts(); };
  if (!some(has_parts)) return;
  FetchBatch batch(FetchBatch::Outer::join);
  each([&](std::size_t i, Request* operation) {
    if (has_parts(*operation)) operation->fetch_parts(batch, static_cast<int>(i));
  });
  for (const auto& failure : batch.finish())
    operations_[static_cast<std::size_t>(failure.index)]->failed_later(failure.code);
}

/// Delivers receives that this call is not about.
void OwnOperations::progress_others() {
  watched_.reset();
  progress_receives();
  watched_.emplace(operations_, requests_);
}

std::vector<int> OwnOperations::go_on() {
  std::vector<int> ended;
  fetch_parts();
  FetchBatch batch(FetchBatch::Outer::join);
  each([&](std::size_t i, Request* operation) {
    batch.about(static_cast<int>(i));
    if (under_way(*operation) && (alone(*operation) ? operation->go_on_alone() : operation->go_on()))
      ended.push_back(static_cast<int>(i));
  });
  for (const auto& failure : batch.finish())
    operations_[static_cast<std::size_t>(failure.index)]->failed_later(failure.code);
  return ended;
}

bool OwnOperations::all_ended() {
  const auto ended = go_on();
  std::ptrdiff_t all_under_way = 0;
  each([&](std::size_t, const Request* operation) { all_under_way += under_way(*operation); });
  const bool all = all_under_way == std::ssize(ended);
  let_mpi_progress_after(all);
  return all;
}

std::vector<int> OwnOperations::some_ended(bool waits, bool& asked, base::FunctionRef<bool()> ask) {
  const bool nobody_to_ask = without_mpi();
  show_others();
  asked = false;
  unsigned rounds = 0;
  for (transport::shm::Patience patience;; patience.wait()) {
    auto ended = go_on();
    std::erase_if(ended, [&](int i) { return !alone(*(*this)[i]); });
    if (!nobody_to_ask) {
      hide();
      asked = ask();
      show_hidden();
    }
    if (!ended.empty() || asked || !waits) {
      restore();
      if (nobody_to_ask && !waits) let_mpi_progress_after(!ended.empty());
      return ended;
    }
    progress_others();
    if (nobody_to_ask && ++rounds % polls_between == 0) let_mpi_progress();
  }
}

void OwnOperations::finish(bool without_mpi) {
  std::optional<WorldReturnsErrors> guard;  // one for all requests of several messages
  if (some([](const Request& o) { return o.has_parts(); })) guard.emplace();
  each([](std::size_t, const Request* operation) {
    if (under_way(*operation)) operation->prefetch();
  });
  each([&](std::size_t, Request* operation) {
    if (under_way(*operation))
      alone(*operation) && operation->stands_alone() ? operation->finish_alone() : operation->finish();
  });
  if (without_mpi) let_mpi_progress_after(true);
}

bool OwnOperations::asked(base::FunctionRef<bool()> ask) {
  if (!some(under_way)) return false;
  for (transport::shm::Patience patience; go_on().empty(); patience.wait()) {
    if (ask()) return true;
    progress_others();
  }
  return false;
}

bool OwnOperations::receive_as_they_come() {
  if (!gpu_announcements()) return false;
  // The sender of a partitioned message may wait for a collective of this call first.
  const bool parts = !some([](const Request& o) { return o.active && o.collective(); });
  auto& batch = arriving_.emplace(FetchBatch::Outer::join);
  const bool together = batch.begins_together();
  std::vector<int> waiting;
  each([&](std::size_t i, Request* o) {
    if (!o->active || (o->receives() ? o->delivered : !parts || !o->several() || !o->has_parts())) return;
    waiting.push_back(static_cast<int>(i));
    o->awaited = together;
    o->prefetch();
  });
  const WorldReturnsErrors guard;  // the MPI's call afterwards tells the errors
  const auto there = [&](std::size_t k) {
    const int i = waiting[k];
    if (!deliver_if_there(*(*this)[i], requests_[i], batch, i)) return false;
    (*this)[i]->awaited = false;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(k));
    return true;
  };
  std::size_t turn = 0;
  unsigned rounds = 0;
  auto last = std::chrono::steady_clock::now();
  for (transport::shm::Patience patience; !waiting.empty();) {
    // Receives that wait for channels do not ask the MPI. The MPI may have to move what others
    // need.
    if (++rounds % polls_between == 0) let_mpi_progress();
    // Most often the receive that was begun first is the first to come. The others have their
    // turns: asking for all of them would take longer than a message. What has come goes
    // together. If no more is there at the moment, and it takes longer to move than to launch, it
    // goes at once.
    bool come = false;
    while (!waiting.empty() && there(0)) come = true;
    if (come && batch.worth_a_launch()) batch.go_on();
    if (waiting.size() > 1) come |= there(1 + turn++ % (waiting.size() - 1));
    const auto now = std::chrono::steady_clock::now();
    if (come) last = now;
    if (waiting.empty() || now - last > batch.moment()) batch.go_on();
    if (!come && rounds % rounds_between == 0) progress_others();
    if (come)
      patience.rest();
    else if (waiting.size() <= 2 || turn % (waiting.size() - 1) == 0)
      patience.wait();
  }
  return true;
}

void OwnOperations::finish_arriving() {
  if (!arriving_) return;
  for (const auto& failure : arriving_->finish()) (*this)[failure.index]->failed_later(failure.code);
  arriving_.reset();
}

}  // namespace dunnage::mpi
