// Looks for calls that are slower with Dunnage: shapes by sizes by calls by the state of the
// caches, on two ranks of a host. Calls through the preloaded library (MPI_) and past it take
// turns. Writes one JSON object a line; see docs/guide/benchmarks.md.
//
//   bench_regressions [--sizes BYTES,...] [--calls NAME,...] [--caches warm,cold] [--points "NAME" ...]
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/record.hpp"
#include "common/two_ranks.hpp"
#include "regressions/calls.hpp"
#include "regressions/cases.hpp"
#include "regressions/measure.hpp"

namespace {

using namespace bench::regressions;
using bench::CommandLine;

struct Options {
  std::vector<long> sizes = {64, 512, 4096, 32768, 262144, 2097152, 16777216};
  std::vector<std::string> calls;
  std::vector<std::string> caches = {"warm", "cold"};
  std::vector<std::string> points;  // empty: all
  Plan plan = {7, 20};
};

template <class T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::ranges::find(values, value) != values.end();
}

bool right_everywhere(Call& call) {
  int right = call.right(Way::dunnage);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return right != 0;
}

/// Measures one kind of call on one case. Returns whether the bytes were right.
bool point(const std::string& name, const Case& one, const Kind& kind, bool cold, Subject& subject, int rank,
           const Options& options, const bench::Evictor& evictor) {
  const auto call = kind.make(subject, rank);
  bool right = right_everywhere(*call);
  const auto samples = cold ? measure_cold(*call, options.plan, subject, evictor) : measure_warm(*call, options.plan);
  right = right_everywhere(*call) && right;  // the choice may be another one by now
  if (rank != 0) return right;
  nlohmann::json record = {{"record", "result"},         {"pattern", name},
                           {"call", kind.name},          {"shape", one.shape},
                           {"bytes", subject.payload()}, {"cache", cold ? "cold" : "warm"}};
  record["series"] = {{"plain", bench::to_json(samples.plain)}, {"dunnage", bench::to_json(samples.dunnage)}};
  record["series"]["dunnage"]["verified"] = right;
  bench::print(record);
  return right;
}

bool all_points(const Options& options, int rank) {
  const bench::Evictor evictor;
  bool right = true;
  for (const auto& one : cases(options.sizes)) {
    std::unique_ptr<Subject> subject;
    for (const auto& kind : kinds()) {
      if (!contains(options.calls, std::string(kind.name))) continue;
      for (const auto& cache : options.caches) {
        const auto name = std::string(kind.name) + " of " + one.shape + ", " + one.size + ", " + cache;
        if (!options.points.empty() && !contains(options.points, name)) continue;
        if (!subject) subject = std::make_unique<Subject>(one.layout());
        right = point(name, one, kind, cache == "cold", *subject, rank, options, evictor) && right;
      }
    }
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Options options;
  for (const auto& kind : kinds()) options.calls.emplace_back(kind.name);
  CommandLine line("Looks for calls that are slower with Dunnage");
  line.numbers("--sizes", options.sizes, "bytes of the basic shapes", 8L);
  line.texts("--calls", options.calls, "kinds of calls", options.calls);
  line.texts("--caches", options.caches, "states of the caches", {"warm", "cold"});
  line.texts_with_commas("--points", options.points, "only the points with these names");
  line.number("--repetitions", options.plan.repetitions, "pairs of samples of each point", 1);
  line.number("--calls-before", options.plan.calls_before, "unmeasured calls of each point", 0);
  if (const auto code = bench::begin_on_two_ranks(line, argc, argv, "bench_regressions")) return *code;
  if (rank == 0) bench::print(bench::header());
  const bool right = all_points(options, rank);
  MPI_Finalize();
  return right ? 0 : 1;
}
