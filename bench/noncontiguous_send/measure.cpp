#include "noncontiguous_send/measure.hpp"

#include <chrono>
#include <memory>

#include "common/past.hpp"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

/// The barrier synchronises the ranks and belongs to neither series.
void barrier() {
  static const auto function = BENCH_PAST(MPI_Barrier);
  function(MPI_COMM_WORLD);
}

double exchange(Exchange& one) {
  one.before();
  barrier();
  const auto start = Clock::now();
  one.run();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  one.after();
  return seconds;
}

/// Does one exchange with values that no exchange before has had, so that no leftover can pass for
/// them. Returns whether the bytes are right.
bool bytes_right(const Scheme& scheme, const Payload& payload, Exchange& one) {
  static int salt = 0;
  ++salt;
  fill(payload.from, salt);
  poison(payload.to);
  exchange(one);
  return agreed(payload.rank != 1 || received(payload.to, scheme.sent, scheme.taken, salt), 1);
}

}  // namespace

bool agreed(bool answer, int rank) {
  static const auto broadcast = BENCH_PAST(MPI_Bcast);
  broadcast(&answer, 1, MPI_C_BOOL, rank, MPI_COMM_WORLD);
  return answer;
}

Measurement measure(const Scheme& scheme, const Payload& payload, const Flush& flush, int exchanges, bool dunnage) {
  struct Way {
    std::unique_ptr<Exchange> exchange;
    Series& series;
  };
  Measurement found;
  std::vector<Way> ways;
  ways.push_back({scheme.make(payload, past()), found.plain});
  if (dunnage) ways.push_back({scheme.make(payload, through()), found.dunnage});

  for (Way& way : ways) way.series.right = bytes_right(scheme, payload, *way.exchange);
  for (int i = 0; i < exchanges; ++i)
    for (std::size_t k = 0; k < ways.size(); ++k) {
      // Another way comes first each time.
      Way& way = ways[(static_cast<std::size_t>(i) + k) % ways.size()];
      flush();
      way.series.seconds.push_back(exchange(*way.exchange));
    }
  for (Way& way : ways) way.series.right &= bytes_right(scheme, payload, *way.exchange);
  return found;
}

}  // namespace bench
