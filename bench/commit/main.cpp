// bench_commit measures what MPI_Type_commit, MPI_Type_free and the first use of a datatype cost
// with Dunnage (MPI_) and without (BENCH_PAST). The two take turns. An ordinary MPI program for one
// rank. Writes one JSON object per line; see docs/guide/benchmarks.md.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/past.hpp"
#include "common/record.hpp"
#include "constructors.hpp"

namespace {

struct Functions {
  decltype(&MPI_Type_commit) commit;
  decltype(&MPI_Type_free) free;
  decltype(&MPI_Pack) pack;
};
const Functions through{MPI_Type_commit, MPI_Type_free, MPI_Pack};
const Functions past{BENCH_PAST(MPI_Type_commit), BENCH_PAST(MPI_Type_free), BENCH_PAST(MPI_Pack)};

using Bytes = std::vector<char>;
using Samples = std::map<std::string, std::vector<double>>;  // by operation

double seconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Takes `batch` datatypes through their lives. The times are for one datatype. The first use
/// counts with its time beyond the second use, because an analysis may be put off until the first
/// use.
void live(const bench::Constructor& constructor, const Functions& f, int batch, const Bytes& user, Bytes& packed,
          Samples* samples) {
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(batch));
  for (auto& type : types) type = constructor.make();
  const auto pack_all = [&] {
    for (const auto type : types) {
      int position = 0;
      f.pack(user.data(), 1, type, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_SELF);
    }
  };
  const double commit = seconds([&] {
    for (auto& type : types) f.commit(&type);
  });
  const double first = seconds(pack_all);
  const double second = seconds(pack_all);
  const double free = seconds([&] {
    for (auto& type : types) f.free(&type);
  });
  if (samples == nullptr) return;
  (*samples)["commit"].push_back(commit / batch);
  (*samples)["first use"].push_back((first - second) / batch);
  (*samples)["free"].push_back(free / batch);
}

/// Measures one constructor. Returns whether both ways pack the same bytes.
bool measure(const bench::Constructor& constructor, int repetitions) {
  MPI_Datatype type = constructor.make();
  MPI_Aint begin, extent;
  int size;
  MPI_Type_get_true_extent(type, &begin, &extent);
  MPI_Type_size(type, &size);
  MPI_Type_free(&type);

  Bytes user(static_cast<std::size_t>(begin + extent));
  for (std::size_t i = 0; i < user.size(); ++i) user[i] = static_cast<char>(i % 251);
  Bytes from_plain(static_cast<std::size_t>(size)), from_dunnage(static_cast<std::size_t>(size));
  // The clock is too coarse for one small type.
  const int batch = std::clamp(10000 / constructor.entries, 1, 50);
  Samples plain, dunnage;
  for (int r = -1; r < repetitions; ++r)
    for (int k = 0; k < 2; ++k) {
      if ((r + k) % 2 == 0)
        live(constructor, through, batch, user, from_dunnage, r < 0 ? nullptr : &dunnage);
      else
        live(constructor, past, batch, user, from_plain, r < 0 ? nullptr : &plain);
    }

  const bool right = from_plain == from_dunnage;
  for (const auto& [operation, samples] : plain) {
    nlohmann::json record = {{"record", "result"},
                             {"pattern", constructor.name},
                             {"kind", constructor.list ? "list" : "small"},
                             {"entries", constructor.entries},
                             {"operation", operation}};
    record["series"] = {{"plain", bench::to_json(samples)}, {"dunnage", bench::to_json(dunnage[operation])}};
    record["series"]["dunnage"]["verified"] = right;
    bench::print(record);
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  int most = 1000000, repetitions = 31;
  bench::CommandLine line("Measures what committing and freeing datatypes costs; writes JSON lines");
  line.number("--most", most, "number of entries of the longest list");
  line.number("--repetitions", repetitions, "samples per series", 1);
  if (const auto status = line.read(argc, argv)) return *status;

  MPI_Init(&argc, &argv);
  bench::print(bench::header());
  bool right = true;
  for (const auto& constructor : bench::constructors(most)) right &= measure(constructor, repetitions);
  MPI_Finalize();
  return right ? 0 : 1;
}
