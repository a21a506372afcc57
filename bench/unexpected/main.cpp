// What messages cost whose receive is posted late.
//
// The ranks are pairs. In each pair one rank sends at once. The other first computes for a given
// time and then posts its receives. The degrees of lateness take turns. The bytes of every
// iteration are verified. Writes one JSON object per line. Exit status 0: done; 1: wrong bytes; 2:
// a wrong option, or an odd number of ranks; 3: device memory was asked for and there is no GPU.
#include <mpi.h>

#include <stdexcept>

#include "common/command_line.hpp"
#include "common/record.hpp"
#include "common/statistics.hpp"
#include "cuda_aware/program.hpp"
#include "unexpected/measure.hpp"
#include "unexpected/memory_use.hpp"

namespace {

using namespace bench::unexpected;

struct Options {
  std::vector<std::string> calls = call_names();
  std::vector<int> messages{1, 8, 26, 64};
  std::vector<std::size_t> bytes{512, 64 << 10, 1 << 20}, blocks{0, 64};
  std::vector<double> lateness{0, 10, 100, 1000, 10000};  // microseconds
  std::string memory = "host";
  Plan plan;
};

void add_options(bench::CommandLine& line, Options& o) {
  constexpr int most_messages = 30000;
  line.texts("--calls", o.calls, "the calls that send", call_names());
  line.numbers("--messages", o.messages, "messages of an iteration", 1, most_messages);
  line.numbers("--bytes", o.bytes, "packed bytes of a message", std::size_t{1}, std::size_t{1} << 29);
  line.numbers("--blocks", o.blocks, "bytes of a block; 0: contiguous", std::size_t{0}, std::size_t{1} << 20);
  line.numbers("--lateness", o.lateness, "microseconds before the receives are posted", 0.0, 1e7);
  line.text("--memory", o.memory, "where the messages are", {"host", "device"});
  line.number("--rounds", o.plan.rounds, "turns of each lateness", 1, 1000);
  line.number("--each", o.plan.each, "iterations in a turn", 1, 100000);
  line.number("--warm-ups", o.plan.warm_ups, "iterations before each turn that are not timed", 0, 1000);
  line.flag("--sleep", o.plan.sleep, "the late rank sleeps; otherwise it computes");
}

nlohmann::json statistics(const std::vector<double>& samples) {
  const auto summary = bench::summarize(samples);
  return {{"median", summary.median}, {"p10", summary.p10}, {"p90", summary.p90}};
}

nlohmann::json record(const Options& o, const Point& point, int ranks, const Series& series, double when_on_time) {
  const double median = bench::summarize(series.seconds).median;
  return {{"record", "result"},
          {"call", point.call},
          {"memory", o.memory},
          {"ranks", ranks},
          {"messages", point.messages},
          {"bytes", point.bytes},
          {"block", point.block},
          {"lateness", series.lateness},
          {"verified", series.verified},
          {"seconds", bench::to_json(series.seconds)},
          {"ratio", when_on_time > 0 ? nlohmann::json(median / when_on_time) : nlohmann::json()},
          {"in_calls", statistics(series.in_calls)},
          {"in_wait", statistics(series.in_wait)},
          {"peak_bytes", {{"on time", series.peak_on_time}, {"late", series.peak_late}}},
          {"shared_bytes", series.shared},
          {"device_bytes", o.memory == "device" ? nlohmann::json(series.device) : nlohmann::json()}};
}

/// Returns the median of the series that is not late; 0 if there is none.
double time_on_time(const std::vector<Series>& all) {
  for (const auto& series : all)
    if (series.lateness == 0) return bench::summarize(series.seconds).median;
  return 0;
}

void print_header(const Options& o, const bench::Gpu* gpu) {
  auto first = bench::header();
  first["memory"] = o.memory;
  first["lateness_by"] = o.plan.sleep ? "sleep" : "computation";
  first["peak_of"] = forget_peak() ? "the point" : "the program";
  if (gpu) {
    first["device"] = gpu->name();
    first["devices"] = bench::Gpu::count();
  }
  bench::print(first);
}

bool run(Options& o, const bench::Gpu* gpu) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks % 2) throw std::invalid_argument("needs pairs of ranks, has " + std::to_string(ranks) + " ranks");
  const Pair pair{rank, rank ^ 1};
  for (auto& lateness : o.lateness) o.plan.lateness.push_back(lateness / 1e6);
  if (rank == 0) print_header(o, gpu);

  const DeviceUse device(gpu, rank, ranks);
  const auto where = gpu ? bench::Where::device : bench::Where::host;
  bool right = true;
  int iteration = 0;
  for (const auto block : o.blocks)
    for (const auto bytes : o.bytes) {
      if (block && bytes % block) throw std::invalid_argument("--bytes must be a multiple of --blocks");
      for (const int messages : o.messages)
        for (const auto& call : o.calls) {
          const Point point{call, messages, bytes, block};
          const auto all = measure(point, where, o.plan, pair, device, iteration);
          for (const auto& series : all) {
            right = right && series.verified;
            if (rank == 0) bench::print(record(o, point, ranks, series, time_on_time(all)));
          }
        }
    }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::CommandLine line("Messages whose receive is posted late; writes JSON lines");
  add_options(line, options);
  if (const auto status = line.read(argc, argv, bench::rank_before_init() == 0)) return *status == 0 ? 0 : 2;
  return bench::run_program("bench_unexpected", options.memory == "device", argc, argv,
                            [&](const bench::Gpu* gpu) { return run(options, gpu); });
}
