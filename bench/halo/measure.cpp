#include "halo/measure.hpp"

#include "common/past.hpp"

namespace bench::halo {
namespace {

using Clock = std::chrono::steady_clock;

/// The exchanges between two barriers. Returns the seconds of each.
std::vector<double> timed(Domain& domain, Exchange& exchange, Phases& phases, int count) {
  static const auto barrier = BENCH_PAST(MPI_Barrier);
  static const auto allreduce = BENCH_PAST(MPI_Allreduce);
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    barrier(domain.comm());
    const auto start = Clock::now();
    phases.begin();
    exchange.exchange(phases);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  allreduce(MPI_IN_PLACE, seconds.data(), count, MPI_DOUBLE, MPI_MAX, domain.comm());
  return seconds;
}

bool right_everywhere(Domain& domain, Exchange& exchange, int round) {
  domain.fill(round);
  MPI_Barrier(domain.comm());
  Phases unused;
  unused.begin();
  exchange.exchange(unused);
  MPI_Barrier(domain.comm());  // direct reads may still be under way elsewhere
  int right = domain.wrong(round) == 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, domain.comm());
  return right != 0;
}

}  // namespace

std::vector<Series> measure(Domain& domain, const std::vector<std::unique_ptr<Exchange>>& exchanges, const Plan& plan) {
  std::vector<Series> all(exchanges.size());
  std::vector<Phases> phases(exchanges.size());
  int round = 0;
  for (std::size_t i = 0; i < exchanges.size(); ++i) all[i].verified = right_everywhere(domain, *exchanges[i], ++round);
  for (int turn = 0; turn < plan.rounds; ++turn)
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      Phases unused;
      const auto first = timed(domain, *exchanges[i], unused, 1).front();
      const bool slow = first * plan.each > plan.too_long;
      if (slow) {
        if (turn == 0) all[i].seconds.push_back(first);
        continue;
      }
      timed(domain, *exchanges[i], unused, plan.warm_ups);
      const auto seconds = timed(domain, *exchanges[i], phases[i], plan.each);
      all[i].seconds.insert(all[i].seconds.end(), seconds.begin(), seconds.end());
    }
  // What repeats itself may have learned to go another way: once more.
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    all[i].verified = right_everywhere(domain, *exchanges[i], ++round) && all[i].verified;
    for (const auto& [name, sum] : phases[i].seconds()) all[i].phases[name] = sum / (plan.rounds * plan.each);
  }
  return all;
}

}  // namespace bench::halo
