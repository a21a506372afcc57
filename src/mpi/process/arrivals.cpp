#include "mpi/process/arrivals.hpp"

#include <chrono>

namespace dunnage::mpi {

void weigh_tokens() {
  using namespace std::chrono;
  static std::atomic<std::uint64_t> seen{0};
  static const auto begin = steady_clock::now();
  // What looking at a receive costs and what a token saves: rough figures of one machine each.
  constexpr nanoseconds cost{40}, gain{4000}, grace = milliseconds(10);
  constexpr std::uint64_t rarely = 256;
  const auto n = seen.fetch_add(1, std::memory_order_relaxed);
  if (n % rarely != 0) return;
  const auto elapsed = steady_clock::now() - begin;
  const auto allowed = grace + elapsed / 100 + gain * process->tokens.load(std::memory_order_relaxed);
  if (cost * n < allowed) return;
  // All receives are looked at until the last token that is under way has come.
  const bool some_from_others = process->world && process->world->tokens.refuse();
  process->takes_tokens.store(false, std::memory_order_relaxed);
  if (!some_from_others && process->tokens_to_self.load(std::memory_order_relaxed) == 0)
    process->tickets_from = transport::gpu_lengths.least;
}

void look_at_short_receives() {
  if (!process->behaviour.tells_truncated_length) return;
  // One more than what says that messages in a GPU's memory may come.
  constexpr auto from = transport::gpu_lengths.least + 1;
  auto now = process->tickets_from.load(std::memory_order_relaxed);
  if (now != std::numeric_limits<std::int64_t>::max() && now > from)
    process->tickets_from.compare_exchange_strong(now, from, std::memory_order_relaxed);
}

void let_mpi_progress() {
  // MPICH finds a message to MPI_COMM_SELF without looking at anything else, so the probe asks on
  // MPI_COMM_WORLD. A probe that finds a message moves nothing else, so the tag is one nobody uses.
  constexpr int unused_tag = 32012;
  int there = 0;
  MPI_Status status;
  process->own.Iprobe(process->rank, unused_tag, MPI_COMM_WORLD, &there, &status);
}

}  // namespace dunnage::mpi
