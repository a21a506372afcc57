// The exchange of ghost cells between the ranks of a periodic grid in three dimensions.
//
// Every rank has a cube of doubles for each variable, with ghost cells around it. The ways to fill
// the ghost cells take turns. Every cell is checked before and after the measurement. Writes one
// JSON object per line. Exit status 0: done; 1: a way left wrong cells; 2: a wrong option; 3:
// device memory was asked for and there is no GPU.
#include <mpi.h>

#include <limits>
#include <regex>

#include "common/command_line.hpp"
#include "common/cores.hpp"
#include "common/record.hpp"
#include "cuda_aware/program.hpp"
#include "halo/measure.hpp"

namespace {

using namespace bench::halo;

struct Options {
  std::vector<int> cells{32, 64, 128}, ghost{1}, variables{1};
  std::string memory = "host", ways = ".*", order = "receives first", wait = "all";
  bool start_each = false, joined = false;
  Plan plan;
};

void add_options(bench::CommandLine& line, Options& o) {
  line.numbers("--cells", o.cells, "cells along each side of a rank's cube", 1, 2048);
  line.numbers("--ghost", o.ghost, "how many ghost cells deep", 1, 64);
  line.numbers("--variables", o.variables, "variables of a cell", 1, 100);
  line.text("--memory", o.memory, "where the cells are", {"host", "device"});
  line.text("--ways", o.ways, "only ways whose name this regular expression matches");
  line.text("--post", o.order, "which requests are begun first", {"receives first", "sends first"});
  line.text("--wait", o.wait, "how the program waits", {"all", "each", "any", "some", "test all", "test any"});
  line.flag("--start-each", o.start_each, "MPI_Start for each request in place of MPI_Startall");
  line.flag("--joined", o.joined, "one message for all variables of a region");
  line.number("--rounds", o.plan.rounds, "turns of each way", 1, 1000);
  line.number("--each", o.plan.each, "exchanges in a turn", 1, 100000);
  line.number("--too-long", o.plan.too_long, "measure a way once if its turn would take more seconds",
              std::numeric_limits<double>::min());
}

MPI_Comm periodic_grid() {
  int ranks, shape[3] = {}, periodic[3] = {1, 1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, shape);
  // The ranks divide the grid along x first, which is the worst case: rows are short there.
  std::swap(shape[0], shape[2]);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 3, shape, periodic, 0, &grid);
  return grid;
}

bool run_case(const Options& o, MPI_Comm grid, Mover& mover, int cells, int ghost, int variables) {
  int rank, ranks;
  MPI_Comm_rank(grid, &rank);
  MPI_Comm_size(grid, &ranks);
  Domain domain(grid, mover.where(), cells, ghost, variables);
  const std::regex wanted(o.ways);
  std::vector<Way> chosen;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (const auto& way : ways()) {
    if (!std::regex_search(way.name, wanted)) continue;
    if (auto exchange = way.make(domain, mover, {o.order, o.wait, o.start_each, o.joined})) {
      chosen.push_back(way);
      exchanges.push_back(std::move(exchange));
    }
  }
  const auto series = measure(domain, exchanges, o.plan);
  bool right = true;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const bool copies_only = chosen[i].name == "direct" && o.memory == "host" && ranks > 1;
    right = right && (series[i].verified || copies_only);
    nlohmann::json record = {{"record", "result"},
                             {"way", chosen[i].name},
                             {"memory", o.memory},
                             {"ranks", ranks},
                             {"cells", cells},
                             {"ghost", ghost},
                             {"variables", variables},
                             {"bytes", domain.exchanged_bytes()},
                             {"verified", copies_only ? nlohmann::json() : nlohmann::json(series[i].verified)},
                             {"seconds", bench::to_json(series[i].seconds)},
                             {"phases", series[i].phases}};
    if (rank == 0) bench::print(record);
  }
  return right;
}

bool run(const Options& o, const bench::Gpu* gpu) {
  MPI_Comm grid = periodic_grid();
  int rank;
  MPI_Comm_rank(grid, &rank);
  auto first = bench::header();
  first["memory"] = o.memory;
  first["order"] = {{"post", o.order}, {"wait", o.wait}, {"start_each", o.start_each}, {"joined", o.joined}};
  if (gpu) {
    first["device"] = gpu->name();
    first["devices"] = bench::Gpu::count();
  }
  if (rank == 0) bench::print(first);
  bool right = true;
  {
    Mover mover(gpu);
    for (const int variables : o.variables)
      for (const int ghost : o.ghost)
        for (const int cells : o.cells)
          if (ghost <= cells) right = run_case(o, grid, mover, cells, ghost, variables) && right;
  }
  MPI_Comm_free(&grid);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::CommandLine line("Exchanges of ghost cells; writes JSON lines");
  add_options(line, options);
  if (const auto status = line.read(argc, argv, bench::rank_before_init() == 0)) return *status == 0 ? 0 : 2;
  return bench::run_program("bench_halo", options.memory == "device", argc, argv,
                            [&](const bench::Gpu* gpu) { return run(options, gpu); });
}
