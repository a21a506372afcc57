// bench_pack measures MPI_Pack and MPI_Unpack on host memory, against the MPI's own functions,
// hand-written loops and copies. An ordinary MPI program for one rank. Writes one JSON object per
// line; see docs/guide/benchmarks.md.

#include <regex>

#include "common/command_line.hpp"
#include "common/record.hpp"
#include "experiment.hpp"

namespace {

struct Options {
  std::string pattern = ".*";
  std::string mode = "both";
  std::string operation = "both";
  int repetitions = 0;  // 0: the mode's own number
  bool quick = false;
  bool list = false;
  std::size_t max_bytes = 0;  // 0: no limit
};

/// Runs the experiment. Returns whether everything that Dunnage did was right.
bool run(const Options& options) {
  bench::Experiment experiment;
  if (options.operation != "unpack") experiment.operations.push_back(bench::Operation::pack);
  if (options.operation != "pack") experiment.operations.push_back(bench::Operation::unpack);
  if (options.quick) experiment.cold_repetitions = experiment.warm_repetitions = 5;
  if (options.repetitions > 0) experiment.cold_repetitions = experiment.warm_repetitions = options.repetitions;

  nlohmann::json header = bench::header();
  experiment.dunnage = header["dunnage"];
  header["eviction"] = experiment.evictor.method();
  bench::print(header);

  const std::regex wanted(options.pattern);
  bool right = true;
  for (const bench::Pattern& pattern : bench::patterns()) {
    const bool cold = pattern.size == bench::Size::large;
    if (options.mode == (cold ? "warm" : "cold") || !std::regex_search(pattern.name, wanted)) continue;
    if (options.list) {
      bench::print({{"record", "pattern"}, {"pattern", pattern.name}, {"mode", cold ? "cold" : "warm"}});
      continue;
    }
    const bench::Layout layout = pattern.layout();
    if (options.max_bytes != 0 && layout.buffer_bytes > options.max_bytes) {
      bench::print({{"record", "skipped"},
                    {"pattern", pattern.name},
                    {"mode", cold ? "cold" : "warm"},
                    {"buffer", layout.buffer_bytes},
                    {"max_bytes", options.max_bytes}});
      continue;
    }
    for (const auto& record : experiment.run(pattern, layout)) {
      bench::print(record);
      if (experiment.dunnage) right = right && record["series"]["dunnage"]["verified"].get<bool>();
    }
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::CommandLine line("Measures MPI_Pack and MPI_Unpack on host memory; writes JSON lines");
  line.text("--pattern", options.pattern, "only patterns whose names match this regular expression");
  line.text("--mode", options.mode, "cold: large patterns from memory; warm: small ones from the caches",
            {"cold", "warm", "both"});
  line.text("--operation", options.operation, "what is measured", {"pack", "unpack", "both"});
  line.number("--repetitions", options.repetitions, "samples per series (default: 15 cold, 31 warm)", 1);
  line.flag("--quick", options.quick, "5 samples per series");
  line.flag("--list", options.list, "list the patterns and stop");
  line.number("--max-bytes", options.max_bytes, "skip patterns whose buffer is larger");
  if (const auto status = line.read(argc, argv)) return *status;

  MPI_Init(&argc, &argv);
  const bool right = run(options);
  MPI_Finalize();
  return right ? 0 : 1;
}
