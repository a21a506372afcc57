#include "pack/cpu/helpers.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "base/quiet_thread.hpp"
#include "base/relax.hpp"

namespace dunnage::pack {
namespace {

/// Of a state: 32 bits for the number of the job, 16 for its parts, 16 for the next part.
constexpr std::uint64_t one_job = std::uint64_t{1} << 32;
constexpr std::int64_t most_parts = 0xffff;
std::int64_t parts_of(std::uint64_t state) { return static_cast<std::int64_t>(state >> 16 & 0xffff); }
std::int64_t next_of(std::uint64_t state) { return static_cast<std::int64_t>(state & 0xffff); }

}  // namespace

bool Helpers::begin_threads() {
  if (!threads_.empty()) return process_ == getpid();  // after fork() the child works alone
  const int wanted = std::min(allowed_.load(std::memory_order_relaxed), base::cores_of(0) - 1);
  process_ = getpid();
  stopping_ = false;
  try {
    while (static_cast<int>(threads_.size()) < wanted) threads_.push_back(base::quiet_thread([this] { run(); }));
  } catch (const std::exception&) {  // there are no more threads to be had
  }
  if (threads_.empty()) allowed_ = 0;
  return !threads_.empty();
}

void Helpers::run() {
  constexpr std::int64_t patience = 50'000;  // nanoseconds without work
  for (auto since = base::monotonic_nanoseconds();;) {
    const int seen = calls_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;
    if (const auto parts = take_parts()) {
      done_.fetch_add(parts, std::memory_order_release);
      since = base::monotonic_nanoseconds();
    } else if (base::monotonic_nanoseconds() - since < patience) {
      base::relax();
    } else {
      calls_.wait(seen, std::memory_order_acquire);
      since = base::monotonic_nanoseconds();
    }
  }
}

/// Returns the number of parts that this thread has taken and done.
std::int64_t Helpers::take_parts() {
  std::int64_t taken = 0;
  auto state = state_.load(std::memory_order_acquire);
  while (next_of(state) < parts_of(state)) {
    if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
    // The job stays as it is until all its parts are done.
    const auto i = next_of(state);
    (*job_.work)(job_.start_of(i), job_.start_of(i + 1));
    ++taken;
    ++state;
  }
  return taken;
}

void Helpers::wake() {
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_all();
}

void Helpers::share(std::int64_t begin, std::int64_t end, std::int64_t lead, Work work) {
  const auto bytes = end - begin;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return work(begin, end);
  if (rest_ > 0) {
    --rest_;
    return work(begin, end);
  }
  if (!begin_threads()) return work(begin, end);
  // Short parts, so that nobody waits long for the last one.
  constexpr std::int64_t least_part = 16 << 10, lines = 64;
  const auto wanted = 8 * (static_cast<std::int64_t>(threads_.size()) + 1);
  const auto part = std::max({least_part, bytes / wanted, bytes / (most_parts - 2)}) / lines * lines;
  job_ = {begin, end, lead % lines, part, &work};
  const auto parts = (bytes - job_.lead + part - 1) / part;
  done_.store(0, std::memory_order_relaxed);
  const auto job = state_.load(std::memory_order_relaxed) / one_job + 1;
  const auto start = base::monotonic_nanoseconds();
  state_.store(job * one_job + (static_cast<std::uint64_t>(parts) << 16), std::memory_order_release);
  wake();
  const auto own = take_parts();
  const auto alone = base::monotonic_nanoseconds();
  for (int i = 0; done_.load(std::memory_order_acquire) < parts - own; ++i)
    i < 1000 ? base::relax() : static_cast<void>(sched_yield());
  shared_.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
  const auto helped = std::min((parts - own) * part, bytes);  // the last part may be shorter
  helped_.fetch_add(static_cast<std::uint64_t>(helped), std::memory_order_relaxed);
  rest_if_late(base::monotonic_nanoseconds() - alone, alone - start);
}

/// A helper that shares its core with another thread may sleep in the middle of a part. If the call
/// has waited for as long as it has worked, the next calls go without helpers: 16, and twice as
/// many each time that follows.
void Helpers::rest_if_late(std::int64_t waited, std::int64_t took) {
  constexpr int first = 16, longest = 4096;
  constexpr std::int64_t noticed = 20'000;  // nanoseconds
  if (waited < std::max(took, noticed)) {
    next_rest_ /= 2;
    return;
  }
  rest_ = std::clamp(2 * next_rest_, first, longest);
  next_rest_ = rest_;
}

void Helpers::stop() {
  const std::lock_guard lock(mutex_);
  if (threads_.empty() || process_ != getpid()) return;
  stopping_.store(true, std::memory_order_release);
  wake();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

Helpers::Counts Helpers::counts() const {
  return {shared_.load(std::memory_order_relaxed), helped_.load(std::memory_order_relaxed)};
}

Helpers& helpers() {
  static auto* one = new Helpers;  // never destroyed: a program may end without MPI_Finalize
  return *one;
}

}  // namespace dunnage::pack
