// Sends every other double by several schemes on two ranks, past the preloaded library and through
// it. The schemes are those of V. Eijkhout, "Performance of MPI sends of non-contiguous data".
// Writes one JSON object per line; see docs/guide/benchmarks.md.
//
//   bench_noncontiguous_send [--least BYTES] [--most BYTES] [--step FACTOR] [--exchanges N] [--flush BYTES]
//                            [--schemes REGEX] [--seconds S] [--element-seconds S] [--one-sided-most BYTES]
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <regex>
#include <string>

#include "common/cores.hpp"
#include "common/record.hpp"
#include "common/statistics.hpp"
#include "common/two_ranks.hpp"
#include "noncontiguous_send/measure.hpp"

namespace {

struct Options {
  long least = 1 << 10, most = 256L << 20, step = 2, flush = 50'000'000, one_sided_most = 1L << 30;
  int exchanges = 20;
  double seconds = 60, element_seconds = 10;
  std::string schemes = ".*";
};

void add_options(bench::CommandLine& line, Options& o) {
  constexpr long fewest = sizeof(double), most = 1L << 30;  // counts are ints
  line.number("--least", o.least, "smallest payload in bytes", fewest, most);
  line.number("--most", o.most, "largest payload in bytes", fewest, most);
  line.number("--step", o.step, "factor from one payload to the next", 2L, most);
  line.number("--exchanges", o.exchanges, "ping-pongs of each series", 1, 1'000'000);
  line.number("--flush", o.flush, "bytes rewritten before each exchange, more than the last-level cache; 0: none", 0L,
              1L << 40);
  line.text("--schemes", o.schemes, "only schemes whose names match this regular expression");
  line.number("--seconds", o.seconds, "leave out a scheme at a payload if it would take longer");
  line.number("--element-seconds", o.element_seconds, "as --seconds, for packing by element");
  line.number("--one-sided-most", o.one_sided_most, "largest payload of one-sided transfers");
}

nlohmann::json header(const Options& o, int rank, bool& dunnage) {
  char host[2][256] = {};
  gethostname(host[rank], sizeof host[rank] - 1);
  int core[2] = {-1, -1};
  core[rank] = bench::bind_to_core(rank);
  MPI_Bcast(host[1], sizeof host[1], MPI_CHAR, 1, MPI_COMM_WORLD);
  MPI_Bcast(&core[1], 1, MPI_INT, 1, MPI_COMM_WORLD);
  nlohmann::json record = bench::header();
  dunnage = record["dunnage"];
  record["hosts"] = {static_cast<const char*>(host[0]), static_cast<const char*>(host[1])};
  record["cores"] = core;
  record["exchanges"] = o.exchanges;
  record["flush"] = o.flush;
  return record;
}

nlohmann::json to_json(const bench::Series& series) {
  nlohmann::json json = bench::to_json(series.seconds);
  json["verified"] = series.right;
  return json;
}

/// Returns why a scheme is left out at a payload, or null if it is not. `expected` is the time in
/// seconds that it would take. The answer is the same on both ranks.
const char* reason(const Options& o, bench::Effort effort, long bytes, double expected) {
  if (effort == bench::Effort::one_sided && bytes > o.one_sided_most) return "memory";
  const double limit = effort == bench::Effort::by_element ? o.element_seconds : o.seconds;
  return bench::agreed(expected > limit, 0) ? "time" : nullptr;
}

/// Runs every scheme at every payload. Returns whether all bytes that Dunnage delivered were right.
bool run(const Options& o, int rank, bool dunnage) {
  const std::regex wanted(o.schemes);
  const bench::Flush flush(static_cast<std::size_t>(o.flush));
  // Seconds of a ping-pong of each scheme at the last payload, on rank 0.
  std::map<std::string, double> took;
  bool right = true;
  for (long bytes = o.least / 8 * 8; bytes <= o.most; bytes *= o.step) {
    const bench::Payload payload(rank, static_cast<int>(bytes / static_cast<long>(sizeof(double))));
    for (const bench::Scheme& scheme : bench::schemes()) {
      if (!std::regex_search(scheme.name, wanted)) continue;
      double& before = took[scheme.name];
      nlohmann::json record = {{"record", "result"}, {"pattern", scheme.name}, {"bytes", bytes}};
      const double expected = before * static_cast<double>(o.step * o.exchanges) * (dunnage ? 2 : 1);
      if (const char* why = reason(o, scheme.effort, bytes, expected)) {
        before *= static_cast<double>(o.step);  // larger payloads are left out too
        record["record"] = "skipped";
        record["reason"] = why;
        if (rank == 0) bench::print(record);
        continue;
      }
      const bench::Measurement found = bench::measure(scheme, payload, flush, o.exchanges, dunnage);
      right &= found.dunnage.right;
      before = bench::summarize(found.plain.seconds).median;
      record["series"]["plain"] = to_json(found.plain);
      if (dunnage) record["series"]["dunnage"] = to_json(found.dunnage);
      if (rank == 0) bench::print(record);
    }
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bench::CommandLine line("Sends of non-contiguous data with and without Dunnage");
  Options options;
  add_options(line, options);
  if (const auto code = bench::begin_on_two_ranks(line, argc, argv, "bench_noncontiguous_send")) return *code;
  bool dunnage;
  const nlohmann::json first = header(options, rank, dunnage);
  if (rank == 0) bench::print(first);
  const bool right = run(options, rank, dunnage);
  MPI_Finalize();
  return right ? 0 : 1;
}
