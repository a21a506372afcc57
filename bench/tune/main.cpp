// Measures for `dunnage tune`, on two ranks: copies, packing and messages. The sizes and lengths of
// blocks are such that prices can be told apart. Writes one JSON object per line, also for the
// progress; see docs/guide/tune.md.
//
//   bench_tune [--seconds S] [--least BYTES] [--most BYTES] [--tickets|--network] [--known PLACES]
//
// A case gets rounds until its times are known (known.hpp), or until the time is up.
// The environment says what Dunnage does with the messages (DUNNAGE_FORCE, DUNNAGE_TICKETS).
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/machine.hpp"
#include "common/cores.hpp"
#include "common/two_ranks.hpp"
#include "plan/machine_model.hpp"
#include "plan/processor_figures.hpp"
#include "tune/case.hpp"
#include "tune/vector.hpp"

namespace {

using namespace bench::tune;
namespace plan = dunnage::plan;

constexpr long pack_most = 4L << 20;

struct Options {
  double seconds = 5;
  long least = 1 << 10, most = 2 << 20;
  bool tickets = false, network = false;
  std::string known;  // the places of cases that were known before, among all cases
};

/// Returns the texts of both ranks. A text has at most 255 characters.
std::vector<std::string> gathered(const std::string& own) {
  char all[2][256] = {}, mine[256] = {};
  own.copy(mine, sizeof mine - 1);
  MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
  return {all[0], all[1]};
}

bool on_one_host() {
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int ranks;
  MPI_Comm_size(host, &ranks);
  MPI_Comm_free(&host);
  return ranks == 2;
}

/// Returns who measures where, and the figures that the results are stored under and compared with.
nlohmann::json header(int rank) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  nlohmann::json record = bench::header();
  record["hosts"] = gathered(name);
  record["cores"] = gathered(std::to_string(bench::bind_to_core(rank)));
  record["peers"] = on_one_host() ? "same_host" : "other_host";
  const auto& machine = dunnage::base::this_machine();
  record["machines"] = gathered(dunnage::base::describe(machine));
  record["machine"] = plan::to_json(machine);
  record["model_file"] = plan::usual_model_path();
  const auto library = plan::identify(record["library_version"].get<std::string>());
  record["library"] = plan::name_of(library.kind);
  record["major"] = library.major;
  record["minor"] = library.minor;
  record["built_in"] = plan::figures(plan::built_in_model(library));
  record["margin"] = plan::margin;
  record["dunnage_version"] = DUNNAGE_VERSION;
  return record;
}

/// Returns on both ranks which cases get another round. Rank 0 decides. `late`: the time is up.
std::vector<char> open_cases(const Cases& cases, const std::vector<bool>& known_before, int round, bool late,
                             int rank) {
  const Rounds rounds;
  std::vector<char> open(cases.size());
  if (rank == 0 && !(late && round >= rounds.fewest))
    for (std::size_t i = 0; i < cases.size(); ++i)
      open[i] = needs_round(rounds, round, known_before[i], cases[i]->series(), plan::margin);
  static const auto broadcast = BENCH_PAST(MPI_Bcast);
  broadcast(open.data(), static_cast<int>(open.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  return open;
}

/// Samples the cases round after round, until all are known or the time is up.
void sample(const Cases& cases, const Options& o, Clock::time_point start, int rank) {
  const auto known_before = named_places(o.known.c_str(), cases.size());
  for (int round = 0;; ++round) {
    const auto open = open_cases(cases, known_before, round, since(start) > o.seconds, rank);
    const auto left = std::count(open.begin(), open.end(), 1);
    if (left == 0) break;
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (open[i]) cases[i]->sample(round);
    if (rank == 0)
      bench::print({{"record", "progress"},
                    {"share", std::min(since(start) / o.seconds, 1.0)},
                    {"cases", cases.size()},
                    {"known", static_cast<std::ptrdiff_t>(cases.size()) - left}});
  }
}

/// Runs all cases. Returns whether all bytes that Dunnage delivered were right.
bool run(const Options& o, int rank) {
  const auto start = Clock::now();
  const Memory memory(static_cast<std::size_t>(std::max(o.most, pack_most)));
  Cases cases;
  bool right = true;
  if (o.network) add_network(cases, memory, rank, o.most);
  if (!o.network) add_copies(cases, memory, rank);
  if (!o.network && !o.tickets) add_packs(cases, memory, rank, pack_most);
  for (const auto& one : cases) right &= one->right();
  if (!o.network) right &= add_messages(cases, memory, rank, o.least, o.most, o.seconds / 3, !o.tickets);
  sample(cases, o, start, rank);
  for (const auto& one : cases) {
    right &= one->right();
    if (rank == 0) bench::print(one->record());
  }
  if (rank == 0) bench::print({{"record", "end"}, {"right", right}});
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bench::CommandLine line("Measures what packing and messages cost");
  Options options;
  line.number("--seconds", options.seconds, "about how long it may take", 0.0, 600.0);
  constexpr long fewest = 1024, most = 1L << 28;  // bytes
  line.number("--least", options.least, "smallest message in bytes", fewest, most);
  line.number("--most", options.most, "largest message in bytes", fewest, most);
  line.flag("--tickets", options.tickets, "only messages that may go by ticket: strided senders");
  line.text("--known", options.known, "places of cases that need few rounds, for example 0-3,7");
  line.flag("--network", options.network, "only the MPI's own messages, one at a time and many in a row");
  if (const auto code = bench::begin_on_two_ranks(line, argc, argv, "bench_tune")) return *code;
  const nlohmann::json first = header(rank);
  if (rank == 0) bench::print(first);
  const bool right = run(options, rank);
  MPI_Finalize();
  return right ? 0 : 1;
}
