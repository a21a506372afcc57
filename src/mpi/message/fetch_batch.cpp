#include "mpi/message/fetch_batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mpi/process/arrivals.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/gpu_use.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

thread_local FetchBatch* innermost = nullptr;
thread_local JointFetch* joint_fetch = nullptr;

/// At most so many flights are under way: one that moves data and one that is being begun. What
/// comes meanwhile goes together in the next flight. Data that take longer to move than to begin do
/// not wait for a flight to end, up to the second figure.
constexpr std::size_t few_flights = 2, most_flights = 6;
constexpr std::int64_t worth_a_flight = 2 << 20;

/// So many messages make an exchange with all neighbours in three dimensions.
constexpr std::size_t usual = 26;

/// From so many bytes on the MPI makes progress meanwhile: what this process has sent may need
/// that.
constexpr std::int64_t long_fetch = 256 << 10;

}  // namespace

FetchBatch::FetchBatch(Outer outer, When when)
    : outer_(innermost), when_(outer_ && outer == Outer::join ? outer_->when_ : when) {
  innermost = this;
  if (!outer_ || outer == Outer::leave) return;
  pending_ = std::exchange(outer_->pending_, {});
  pending_bytes_ = std::exchange(outer_->pending_bytes_, 0);
}
FetchBatch::~FetchBatch() {
  finish();
  innermost = outer_;
}
FetchBatch* FetchBatch::current() { return innermost; }

JointFetch::Scope::Scope(JointFetch& joint) : outer_(std::exchange(joint_fetch, &joint)) {}
JointFetch::Scope::~Scope() { joint_fetch = outer_; }

void FetchBatch::add(DeviceFetch fetch) {
  if (pending_.empty()) pending_.reserve(usual);
  pending_bytes_ += fetch.move->size;
  pending_.push_back({std::move(fetch), index_, this});
}

std::int64_t FetchBatch::bytes_of(const std::vector<Pending>& messages) {
  std::int64_t bytes = 0;
  for (const auto& message : messages) bytes += message.fetch.move->size;
  return bytes;
}

void FetchBatch::end(const std::vector<Pending>& messages, int code) {
  for (const auto& message : messages) {
    message.fetch.ended();
    if (code != MPI_SUCCESS) message.batch->failures_.push_back({message.index, code});
  }
}

template <class Begin>
void FetchBatch::fly(std::vector<Pending> messages, Begin&& begin) {
  pending_bytes_ = bytes_of(pending_);
  try {
    flights_.reserve(flights_.size() + 1);
    auto work = begin(messages);
    process->fetches.group(messages.size(), std::exchange(begun_, true));
    flights_.push_back({std::move(messages), std::move(work)});
  } catch (const std::exception&) {
    end(messages, code_of_current_exception());
  }
}

void FetchBatch::begin_transfers() {
  const auto context = pending_.front().fetch.context;
  auto messages = std::exchange(pending_, {});
  const auto of_context = [&](const auto& p) { return p.fetch.context == context; };
  if (!std::all_of(messages.begin(), messages.end(), of_context)) {
    const auto others = std::stable_partition(messages.begin(), messages.end(), of_context);
    pending_.assign(std::make_move_iterator(others), std::make_move_iterator(messages.end()));
    messages.erase(others, messages.end());
  }
  fly(std::move(messages), [&](const std::vector<Pending>& all) {
    std::vector<const ScopedTransfers::Move*> moves;
    moves.reserve(all.size());
    for (const auto& p : all) moves.push_back(p.fetch.move.get());
    return std::make_unique<ScopedTransfers>(context, moves);
  });
}

void FetchBatch::begin_jointly(JointFetch& joint) {
  const auto needed =
      std::stable_partition(pending_.begin(), pending_.end(), [&](const auto& p) { return !joint.needs(p.fetch); });
  if (needed == pending_.end()) return;
  std::vector<const DeviceFetch*> fetches;
  for (auto p = needed; p != pending_.end(); ++p) fetches.push_back(&p->fetch);
  std::unique_ptr<DeviceWork> work;
  const int code = guarded([&] { work = joint.begin(fetches); });
  if (!work && code == MPI_SUCCESS) return;
  std::vector<Pending> messages(std::make_move_iterator(needed), std::make_move_iterator(pending_.end()));
  pending_.erase(needed, pending_.end());
  if (code != MPI_SUCCESS) return end(messages, code);
  fly(std::move(messages), [&](const auto&) { return std::move(work); });
}

void FetchBatch::go_on() {
  std::erase_if(flights_, [&](const auto& flight) {
    bool done = true;
    const int code = guarded([&] { done = flight.work->done(); });
    if (done) end(flight.messages, code);
    return done;
  });
  if (joint_fetch && !pending_.empty()) begin_jointly(*joint_fetch);
  if (begins_together())
    std::stable_sort(pending_.begin(), pending_.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  const auto room = [&] {
    return flights_.size() < few_flights || (flights_.size() < most_flights && pending_bytes_ >= worth_a_flight);
  };
  while (!pending_.empty() && room()) begin_transfers();
}

std::vector<FetchBatch::Failure> FetchBatch::finish() {
  if (pending_.empty() && flights_.empty()) return std::exchange(failures_, {});
  auto bytes = pending_bytes_;
  for (const auto& flight : flights_) bytes += bytes_of(flight.messages);
  const base::Range range("fetch into device memory", bytes);
  // No context of ours is current here: the MPI may have its own affairs with devices.
  transport::shm::Patience patience;
  for (int round = 1; !flights_.empty() || !pending_.empty(); ++round, patience.wait()) {
    go_on();
    if (bytes >= long_fetch && round % polls_between == 0) let_mpi_progress();
  }
  return std::exchange(failures_, {});
}

int fetch_to_device(DeviceFetch fetch) {
  if (auto* batch = FetchBatch::current()) {
    batch->add(std::move(fetch));
    return MPI_SUCCESS;
  }
  if (fetch.move->size >= long_fetch) {
    FetchBatch alone;
    alone.add(std::move(fetch));
    const auto failures = alone.finish();
    return failures.empty() ? MPI_SUCCESS : failures.front().code;
  }
  const int code = guarded([&] {
    const base::Range range("fetch into device memory", fetch.move->size);
    const auto* move = fetch.move.get();
    ScopedTransfers transfers(fetch.context, {&move, 1});
    process->fetches.group(1, false);
    for (transport::shm::Patience patience; !transfers.done();) patience.wait();
  });
  fetch.ended();
  return code;
}

}  // namespace dunnage::mpi
