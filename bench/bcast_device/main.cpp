// Broadcasts from one GPU's memory to that of other GPUs, with one rank for each.
//
// Three ways are compared: MPI_Bcast and MPI_Ibcast on device memory through the preloaded library;
// a plain MPI_Bcast with copies by the program from and to page-locked memory; and NCCL's
// broadcast. NCCL needs its library, and a GPU for each rank. The ways take turns after a barrier,
// and the slowest rank counts. The limit beside them is one copy from the next GPU by the copy
// engine, if there is another GPU. Writes one JSON object per line. Exit status 0: done; 1: wrong
// bytes; 3: no GPU.
#include <mpi.h>

#include <functional>
#include <iostream>
#include <optional>

#include "bcast/buffers.hpp"
#include "bcast/clock.hpp"
#include "common/command_line.hpp"
#include "common/cores.hpp"
#include "common/past.hpp"
#include "common/record.hpp"
#include "cuda_aware/gpu.hpp"
#include "cuda_aware/memory.hpp"
#include "cuda_aware/nccl_comm.hpp"

namespace {

using namespace bench;

struct Options {
  std::vector<std::int64_t> bytes{4096, 65536, 1048576, 16777216, 67108864, 268435456};
  int rounds = 5, each = 20;
  std::string nccl = "libnccl.so.2";
};

struct Ranks {
  int rank = 0, ranks = 1;
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
};

class Broadcasts {
 public:
  Broadcasts(const Gpu& gpu, std::int64_t bytes)
      : bytes_(bytes), data_(Where::device, size()), host_(Where::host, size()), pinned_(host_), model_(size()) {
    gpu.make_current();
  }

  void preloaded(int root) { MPI_Bcast(data_.place().at, static_cast<int>(bytes_), MPI_BYTE, root, MPI_COMM_WORLD); }
  void nonblocking(int root) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data_.place().at, static_cast<int>(bytes_), MPI_BYTE, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  void staged(int root) {
    static const auto bcast = BENCH_PAST(MPI_Bcast);
    if (at_.rank == root) BENCH_CU(cuMemcpyDtoH, host_.place().at, data_.place().device(), size());
    bcast(host_.place().at, static_cast<int>(bytes_), MPI_BYTE, root, MPI_COMM_WORLD);
    if (at_.rank != root) upload(data_.place().device(), host_.place().at, size());
  }

  void by_nccl(const NcclComm& nccl, int root) {
    nccl.broadcast(data_.place().at, size(), root, stream_.get());
    stream_.wait();
  }

  bool right(const std::function<void(int)>& way, int root) {
    const auto salt = ++salt_;
    fill(model_.data(), bytes_, at_.rank == root ? salt : salt + 1000);
    put(data_.place(), reinterpret_cast<const std::byte*>(model_.data()), size());
    way(root);
    get(reinterpret_cast<std::byte*>(model_.data()), data_.place(), size());
    return holds(model_.data(), bytes_, salt);
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(bytes_); }
  static inline unsigned salt_ = 0;
  const Ranks at_;
  const std::int64_t bytes_;
  Memory data_, host_;
  Pinned pinned_;
  std::vector<char> model_;
  Stream stream_;
};

/// Returns the time of one copy from the next GPU by the copy engine, or 0 if there is no other
/// GPU.
double peer_copy(const Gpu& gpu, std::size_t bytes) {
  if (Gpu::count() < 2) return 0;
  const Gpu other(gpu.number() + 1);
  const Memory from(Where::device, bytes);
  gpu.make_current();
  if (!gpu.reach(other)) return 0;
  const Memory to(Where::device, bytes);
  const Stream stream;
  double shortest = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double before = now();
    BENCH_CU(cuMemcpyPeerAsync, to.place().device(), gpu.context(), from.place().device(), other.context(), bytes,
             stream.get());
    stream.wait();
    shortest = std::min(shortest, now() - before);
  }
  return shortest;
}

bool run(const Options& o, const Gpu& gpu) {
  const Ranks at;
  const bool preloaded = header()["dunnage"];
  std::optional<NcclComm> nccl;
  try {
    nccl.emplace(o.nccl, at.rank, at.ranks);
  } catch (const std::runtime_error& error) {
    if (at.rank == 0) print({{"record", "note"}, {"nccl", error.what()}});
  }
  struct Way {
    const char* name;
    std::function<void(int)> run;
    std::vector<double> seconds;
    bool right = true;
  };
  bool all = true;
  for (const auto bytes : o.bytes) {
    Broadcasts broadcasts(gpu, bytes);
    std::vector<Way> ways{{"staged by the program", [&](int root) { broadcasts.staged(root); }, {}}};
    if (nccl) ways.push_back({"nccl", [&](int root) { broadcasts.by_nccl(*nccl, root); }, {}});
    if (preloaded) {
      ways.push_back({"dunnage", [&](int root) { broadcasts.preloaded(root); }, {}});
      ways.push_back({"dunnage-ibcast", [&](int root) { broadcasts.nonblocking(root); }, {}});
    }
    const auto check = [&] {
      for (auto& way : ways)
        for (const int root : {0, at.ranks - 1}) way.right &= broadcasts.right(way.run, root);
    };
    check();
    for (auto& way : ways)
      for (int i = 0; i < 10; ++i) way.run(0);  // lets a library do what it does at its first calls
    for (int round = 0; round < o.rounds; ++round)
      for (std::size_t k = 0; k < ways.size(); ++k) {
        auto& way = ways[(k + static_cast<std::size_t>(round)) % ways.size()];
        for (int i = 0; i < o.each; ++i) {
          MPI_Barrier(MPI_COMM_WORLD);
          const double before = now();
          way.run(0);
          double mine = now() - before, slowest = 0;
          MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
          way.seconds.push_back(slowest);
        }
      }
    check();
    const double limit = at.rank == 0 ? peer_copy(gpu, static_cast<std::size_t>(bytes)) : 0;
    nlohmann::json record = {{"record", "result"}, {"ranks", at.ranks}, {"bytes", bytes}, {"copy engine", limit}};
    for (const auto& way : ways) {
      int right = way.right, everywhere = 0;
      MPI_Allreduce(&right, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      all &= everywhere != 0;
      record["series"][way.name] = to_json(way.seconds);
      record["series"][way.name]["verified"] = everywhere != 0;
    }
    if (at.rank == 0) print(record);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  CommandLine line("Broadcasts from one GPU's memory to others'");
  Options options;
  line.numbers("--bytes", options.bytes, "lengths of the messages", std::int64_t{1}, std::int64_t{1} << 30);
  line.number("--rounds", options.rounds, "number of rounds through all ways", 1, 1000);
  line.number("--each", options.each, "broadcasts of each way in a round", 1, 10000);
  line.text("--nccl", options.nccl, "NCCL's library");
  if (const auto status = line.read(argc, argv)) return *status;
  const Gpu gpu(rank_before_init());
  MPI_Init(&argc, &argv);
  const Ranks at;
  auto first = header();
  first["device"] = gpu.name();
  first["devices"] = Gpu::count();
  first["core"] = bind_to_core(at.rank);
  if (at.rank == 0) print(first);
  const bool right = run(options, gpu);
  MPI_Finalize();
  return right ? 0 : 1;
} catch (const NoDevice& error) {
  std::cerr << "bench_bcast_device: no GPU: " << error.what() << "\n";
  return 3;
}
