// bench_pack_device measures MPI_Pack and MPI_Unpack on device memory. Beside them stand the MPI's
// own functions, the kernel of the blog post "Improving MPI_Pack performance in CUDA-aware MPI",
// CUDA's copies, and the limit of the memory. An ordinary MPI program for one rank. Writes one JSON
// object per line; see docs/guide/benchmarks.md. Exit status 0: done; 1: wrong bytes; 2: failed; 3:
// no GPU.
#include <chrono>
#include <cstdio>

#include "common/command_line.hpp"
#include "common/record.hpp"
#include "experiment.hpp"

namespace {

struct Options {
  std::vector<std::string> cases, starts{"zero"}, operations{"pack", "unpack"}, modes{"cold", "warm"};
  bench::Repetitions repetitions;
  std::uint64_t allocation = 1 << 30;
  double seconds = 0;  // 0: no limit
  double plain_seconds = 2;
  bool plain = false, dunnage = false;
  std::string attempt;
};

/// Runs the cases until they are done or the time is up. Returns whether all bytes were right.
bool run(const Options& options, bench::Experiment& experiment) {
  const auto start = std::chrono::steady_clock::now();
  bool right = true;
  for (const std::string& text : options.cases)
    for (const std::string& where : options.starts) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (options.seconds > 0 && spent.count() > options.seconds) {
        bench::print({{"record", "skipped"}, {"pattern", text}, {"start", where}, {"reason", "the time was up"}});
        continue;
      }
      bench::print({{"record", "begin"}, {"pattern", text}, {"start", where}});
      if (const auto subject = bench::read_case(text, where)) right = experiment.run(*subject) && right;
    }
  return right;
}

int measure(const Options& options, const bench::Device& device) {
  constexpr std::uint64_t little = 65536;  // bytes that are enough to try
  bench::Experiment experiment(device, options.attempt.empty() ? options.allocation : little);
  experiment.operations = options.operations;
  experiment.modes = options.modes;
  experiment.repetitions = options.repetitions;
  experiment.possible.dunnage = options.dunnage || options.attempt == "dunnage";
  experiment.possible.plain = options.plain || options.attempt == "plain";
  experiment.possible.plain_seconds = options.plain_seconds;
  if (!options.attempt.empty()) return experiment.try_pack() ? 0 : 1;
  nlohmann::json header = bench::header();
  int version = 0;
  BENCH_CU(cuDriverGetVersion, &version);
  header.update({{"device", device.name()}, {"driver", version}, {"copy_bandwidth", experiment.copy_bandwidth()}});
  bench::print(header);
  return run(options, experiment) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::CommandLine line("Measures MPI_Pack and MPI_Unpack on device memory; writes JSON lines");
  line.texts_with_commas("--case", options.cases, "what is packed, for example 'box 8x1024x128' (cases.hpp)");
  line.texts("--start", options.starts, "where the data begin", {"zero", "odd", "aligned"});
  line.texts("--operation", options.operations, "what is measured", {"pack", "unpack"});
  line.texts("--mode", options.modes, "state of the caches", {"cold", "warm"});
  line.number("--repetitions", options.repetitions.samples, "samples per series", 1);
  line.number("--warm-ups", options.repetitions.warm_ups, "calls before the samples", 0);
  line.number("--allocation", options.allocation, "bytes of the user's buffer");
  line.number("--seconds", options.seconds, "begin no case after this time");
  line.number("--plain-seconds", options.plain_seconds, "leave out calls of plain MPI that would take longer");
  line.flag("--plain", options.plain, "measure the MPI's own functions, which have to be CUDA-aware");
  line.flag("--dunnage", options.dunnage, "measure Dunnage's functions; Dunnage has to be loaded");
  line.text("--try", options.attempt, "pack once and stop; status 0 if the bytes are right", {"plain", "dunnage"});
  if (const auto status = line.read(argc, argv)) return *status;
  try {
    // CUDA must be initialised before MPI, as CUDA-aware MPIs ask.
    const bench::Device device;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int status = measure(options, device);
    MPI_Finalize();
    return status;
  } catch (const bench::NoDevice& nothing) {
    std::fprintf(stderr, "bench_pack_device: %s\n", nothing.what());
    return 3;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench_pack_device: %s\n", failure.what());
    return 2;
  }
}
