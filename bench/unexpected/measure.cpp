#include "unexpected/measure.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "common/past.hpp"
#include "unexpected/memory_use.hpp"

namespace bench::unexpected {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Dunnage does nothing for these calls, so they must not go through it.
void barrier() {
  static const auto call = BENCH_PAST(MPI_Barrier);
  call(MPI_COMM_WORLD);
}

template <class T>
void reduce(T* values, std::size_t count, MPI_Datatype type, MPI_Op op) {
  static const auto call = BENCH_PAST(MPI_Allreduce);
  call(MPI_IN_PLACE, values, static_cast<int>(count), type, op, MPI_COMM_WORLD);
}

/// A computation that makes no call.
void compute(Clock::time_point end) {
  while (Clock::now() < end) {
  }
}

/// The times of one rank in the iterations of a turn.
struct Times {
  explicit Times(int count) : whole(static_cast<std::size_t>(count)), late(whole), in_calls(whole), in_wait(whole) {}
  std::vector<double> whole, late, in_calls, in_wait;
  bool right = true;

  void take_slowest() {
    for (auto* values : {&whole, &late, &in_calls, &in_wait})
      reduce(values->data(), values->size(), MPI_DOUBLE, MPI_MAX);
    int all_right = right;
    reduce(&all_right, 1, MPI_INT, MPI_MIN);
    right = all_right != 0;
  }
};

class Measurement {
 public:
  Measurement(Messages& messages, Exchange& exchange, const Pair& pair, bool sleep, int& iteration)
      : messages_(messages), exchange_(exchange), pair_(pair), sleep_(sleep), iteration_(iteration) {}

  /// Returns the times of the slowest rank.
  Times turn(double lateness, int count) {
    Times times(count);
    for (std::size_t i = 0; i < times.whole.size(); ++i) once(lateness, times, i);
    times.take_slowest();
    return times;
  }

 private:
  bool sends() const { return !pair_.is_late() || exchange_.both_ways(); }
  bool receives() const { return pair_.is_late() || exchange_.both_ways(); }

  void once(double lateness, Times& times, std::size_t i) {
    ++iteration_;
    if (sends()) messages_.fill(pair_.rank, iteration_);
    if (receives()) messages_.poison();
    barrier();
    const auto start = Clock::now();
    if (pair_.is_late()) {
      be_late(start, lateness);
      times.late[i] = Seconds(Clock::now() - start).count();
      exchange_.late();
    } else {
      const auto blocked = exchange_.on_time();
      times.in_calls[i] = blocked.calls;
      times.in_wait[i] = blocked.wait;
    }
    times.whole[i] = Seconds(Clock::now() - start).count();
    if (receives()) times.right = messages_.arrived(pair_.peer, iteration_) && times.right;
  }

  void be_late(Clock::time_point start, double lateness) const {
    if (lateness <= 0) return;
    const auto end = start + std::chrono::duration_cast<Clock::duration>(Seconds(lateness));
    if (sleep_)
      std::this_thread::sleep_until(end);
    else
      compute(end);
  }

  Messages& messages_;
  Exchange& exchange_;
  const Pair pair_;
  const bool sleep_;
  int& iteration_;
};

void add(Series& series, const Times& times) {
  for (std::size_t i = 0; i < times.whole.size(); ++i) series.seconds.push_back(times.whole[i] - times.late[i]);
  series.in_calls.insert(series.in_calls.end(), times.in_calls.begin(), times.in_calls.end());
  series.in_wait.insert(series.in_wait.end(), times.in_wait.begin(), times.in_wait.end());
  series.verified = series.verified && times.right;
}

void note_memory(Series& series, const Pair& pair, std::int64_t on_device) {
  std::int64_t most[] = {pair.is_late() ? 0 : peak_bytes(), pair.is_late() ? peak_bytes() : 0, on_device};
  std::int64_t shared = shared_part_bytes();
  barrier();  // a rank that goes on would change the shares of the others
  reduce(most, std::size(most), MPI_INT64_T, MPI_MAX);
  reduce(&shared, 1, MPI_INT64_T, MPI_SUM);
  series.peak_on_time = std::max(series.peak_on_time, most[0]);
  series.peak_late = std::max(series.peak_late, most[1]);
  series.device = std::max(series.device, most[2]);
  series.shared = std::max(series.shared, shared);
}

}  // namespace

DeviceUse::DeviceUse(const Gpu* gpu, int rank, int ranks) : gpu_(gpu) {
  if (!gpu) return;
  const int gpus = Gpu::count();
  for (int other = 0; other < ranks; ++other) sharers_ += other % gpus == rank % gpus;
  barrier();
  free_before_ = gpu->free_bytes();
  barrier();
}

std::int64_t DeviceUse::bytes(std::size_t buffers_of_a_rank) const {
  if (!gpu_) return 0;
  const auto used = static_cast<std::int64_t>(free_before_) - static_cast<std::int64_t>(gpu_->free_bytes());
  return used - sharers_ * static_cast<std::int64_t>(buffers_of_a_rank);
}

std::vector<Series> measure(const Point& point, Where where, const Plan& plan, const Pair& pair,
                            const DeviceUse& device, int& iteration) {
  Messages messages(where, point.messages, point.bytes, point.block);
  const auto exchange = make_exchange(point.call, messages, pair.peer, !pair.is_late());
  Measurement measurement(messages, *exchange, pair, plan.sleep, iteration);
  const std::size_t fitting = plan.most_bytes / (point.bytes * static_cast<std::size_t>(point.messages));
  const int each = std::min(plan.each, static_cast<int>(std::max<std::size_t>(2, fitting)));

  std::vector<Series> all(plan.lateness.size());
  for (int round = 0; round < plan.rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].lateness = plan.lateness[i];
      forget_peak();
      if (plan.warm_ups) all[i].verified = measurement.turn(plan.lateness[i], plan.warm_ups).right && all[i].verified;
      add(all[i], measurement.turn(plan.lateness[i], each));
      note_memory(all[i], pair, device.bytes(messages.buffer_bytes()));
    }
  return all;
}

}  // namespace bench::unexpected
