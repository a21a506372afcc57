#include "cuda_aware/measure.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double slow = 0.05;  // seconds; an exchange that takes longer is not warmed up

double timed(Exchange& exchange) {
  const auto start = Clock::now();
  exchange.run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double of_rank_0(double value) {
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return value;
}

void damage_received(const Exchange& exchange, Damage damage) {
  const Window& window = exchange.window;
  if (damage == Damage::none || !exchange.receives() || (damage == Damage::gap && window.shape.block == 0)) return;
  const Place last = exchange.buffers.received(window, window.length - 1);
  const std::size_t block = window.shape.block;
  const std::size_t at = damage == Damage::first ? 0
                         : damage == Damage::gap ? block
                                                 : window.shape.extent() - block - 1;
  std::byte byte;
  get(&byte, last + at, 1);
  byte ^= std::byte{1};
  put(last + at, &byte, 1);
}

bool bytes_right(Exchange& exchange, Pattern& pattern, Damage damage) {
  static std::size_t salt = 0;
  salt += 2 * 1024;  // more than the number of messages in the windows of both ranks
  const auto of = [](int rank) { return salt + 1024 * static_cast<std::size_t>(rank); };
  exchange.buffers.fill(pattern, exchange.window, of(exchange.rank));
  exchange.buffers.poison(exchange.window);
  MPI_Barrier(MPI_COMM_WORLD);
  exchange.run();
  damage_received(exchange, damage);
  int right = !exchange.receives() || exchange.buffers.arrived(pattern, exchange.window, of(1 - exchange.rank)),
      all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

}  // namespace

int repetitions(const Effort& effort, double took) {
  return std::clamp(static_cast<int>(std::min(effort.seconds / std::max(took, 1e-9), 1e9)), effort.least, effort.most);
}

Series measure(Exchange& exchange, Buffers& buffers, Pattern& pattern, const Effort& effort, bool fresh,
               Damage damage) {
  Series found;
  const double share = exchange.operation == Operation::latency ? 0.5 : 1;
  MPI_Barrier(MPI_COMM_WORLD);
  double took = of_rank_0(timed(exchange));
  if (took < slow)
    for (int i = 0; i < 4; ++i) took = timed(exchange);
  took = of_rank_0(took);
  const auto renew = [&] {
    MPI_Barrier(MPI_COMM_WORLD);  // the other rank no longer uses this memory
    buffers.renew();
    MPI_Barrier(MPI_COMM_WORLD);
  };
  const auto begun = Clock::now();
  for (int n = repetitions(effort, took); n > 0; --n) {
    if (fresh) renew();
    found.seconds.push_back(share * timed(exchange));
    // To get new memory may take longer than the exchange.
    if (fresh && of_rank_0(std::chrono::duration<double>(Clock::now() - begun).count()) > 4 * effort.seconds &&
        static_cast<int>(found.seconds.size()) >= effort.least)
      break;
  }
  if (fresh) renew();
  found.right = bytes_right(exchange, pattern, damage);
  return found;
}

nlohmann::json quantiles(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&samples](double share) {
    return samples[static_cast<std::size_t>(std::lround(share * static_cast<double>(samples.size() - 1)))];
  };
  return {{"samples", samples.size()}, {"least", samples.front()}, {"p10", at(0.1)}, {"p50", at(0.5)}, {"p90", at(0.9)},
          {"p99", at(0.99)},           {"most", samples.back()}};
}

}  // namespace bench
