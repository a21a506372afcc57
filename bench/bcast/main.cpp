// Compares broadcasts on all ranks that the program is started with. These are MPI_Bcast past the
// preloaded library and through it, and schedules over the MPI's own messages. The schedules
// include those of "A Bandwidth-saving Optimization for MPI Broadcast Collective Operation". Writes
// one JSON object per line; see docs/guide/benchmarks.md.
#include <mpi.h>

#include <regex>

#include "bcast/measure.hpp"
#include "common/command_line.hpp"
#include "common/cores.hpp"
#include "common/record.hpp"

namespace {

struct Options {
  std::vector<std::int64_t> bytes{12288, 524287, 1048576};
  std::string ways = ".*";
  std::vector<std::string> cases{"warm:0"};
  bench::Plan plan;
};

void add_options(bench::CommandLine& line, Options& o) {
  line.numbers("--bytes", o.bytes, "lengths of the messages", std::int64_t{1}, std::int64_t{1} << 30);
  line.text("--ways", o.ways, "only ways whose name this regular expression matches");
  line.texts("--cases", o.cases,
             "buffers and roots: one buffer (warm) or several in turn (rotated); "
             "always rank 0, or another rank each time (all)",
             {"warm:0", "rotated:0", "warm:all", "rotated:all"});
  line.number("--rotated-bytes", o.plan.rotated, "least size of rotated buffers", decltype(o.plan.rotated){1});
  line.number("--rounds", o.plan.rounds, "number of rounds through all ways", 1, 1000);
  line.number("--most", o.plan.most, "broadcasts of each way in a round, by each method", 1, 100000);
  line.number("--seconds", o.plan.seconds, "about how long a case may take", std::numeric_limits<double>::min());
}

void run(const Options& o, bool dunnage, int rank, bool& right) {
  const bench::Start start;
  const std::regex wanted(o.ways);
  const auto ways = bench::ways([&](const std::string& name) { return std::regex_match(name, wanted); }, dunnage);
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const auto bytes : o.bytes)
    for (const auto& one : o.cases) {
      const auto buffers = one.substr(0, one.find(':')), root = one.substr(one.find(':') + 1);
      const auto found = bench::measure(ways, {bytes, buffers == "rotated", root == "all"}, o.plan, start);
      if (rank != 0) continue;
      nlohmann::json record = {{"record", "result"}, {"ranks", ranks}, {"bytes", bytes},
                               {"buffers", buffers}, {"roots", root},  {"shared_clock", start.shared_clock()}};
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const auto& way = found[i];
        nlohmann::json series = {{"loop", bench::to_json(way.loop)}, {"late", way.late}, {"verified", way.right}};
        if (!way.synchronised.empty()) series["synchronised"] = bench::to_json(way.synchronised);
        if (way.messages) series["messages"] = way.messages, series["bytes_received"] = way.bytes_received;
        record["series"][ways[i].name] = series;
        if (ways[i].name.starts_with("dunnage")) right &= way.right;
      }
      bench::print(record);
    }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bench::CommandLine line("Broadcasts with and without Dunnage");
  Options options;
  add_options(line, options);
  if (const auto status = line.read(argc, argv, rank == 0)) {
    MPI_Finalize();
    return *status;
  }
  const int core = bench::bind_to_core(rank);
  auto first = bench::header();
  first["core"] = core;
  if (rank == 0) bench::print(first);
  bool right = true;
  run(options, first["dunnage"], rank, right);
  MPI_Finalize();
  return right ? 0 : 1;
}
