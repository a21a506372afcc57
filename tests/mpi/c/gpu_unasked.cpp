// Nonblocking collectives without blocking ones before. The ranks find out by themselves whose the
// calls are, at different times: ranks are late, several calls are under way, and each rank waits
// for them in an order of its own. The memory is in a GPU on all ranks, on some, from some call on,
// or nowhere. Every value is compared.
//
// Call: unasked [SEED]. With the argument "device" all ranks have device memory in all calls, and
// no call blocks.
#include <unistd.h>

#include <climits>
#include <deque>
#include <memory>
#include <random>

#include "device_doubles.hpp"
#include "surface.hpp"

namespace gpu_unasked_contract {

enum class What {
  alltoall,
  alltoallv,
  alltoallw,
  alltoall_in_place,
  alltoallv_in_place,
  alltoallw_in_place,
  allgather,
  allgatherv,
  gather,
  gatherv,
  scatter,
  scatterv,
  allreduce,
  reduce,
  reduce_scatter_block,
  scan
};
constexpr int whats = 16;
constexpr const char* names[whats] = {"alltoall",
                                      "alltoallv",
                                      "alltoallw",
                                      "alltoall in place",
                                      "alltoallv in place",
                                      "alltoallw in place",
                                      "allgather",
                                      "allgatherv",
                                      "gather",
                                      "gatherv",
                                      "scatter",
                                      "scatterv",
                                      "allreduce",
                                      "reduce",
                                      "reduce_scatter_block",
                                      "scan"};
constexpr bool in_place(What what) { return what >= What::alltoall_in_place && what <= What::alltoallw_in_place; }

/// One call, alike on all ranks but for the memory.
struct Call {
  What what;
  int number, n, root;
  bool blocks;
};

/// Value i of what a rank sends.
double value_of(int call, int rank, int i) { return 1000 * call + 10 * rank + double(i) / 8192; }

/// A call of this rank, until it has ended.
class UnderWay {
 public:
  UnderWay(const Call& call, MPI_Comm comm, Kind kind)
      : call_(call),
        rank_(rank_in(comm)),
        ranks_(size_of(comm)),
        in_(kind, call.n * ranks_),
        out_(kind, call.n * ranks_) {
    in_.count_from(value_of(call.number, rank_, 0));
    in_place(call.what) ? out_.count_from(value_of(call.number, rank_, 0)) : out_.fill(-1);
    for (int r = 0; r < ranks_; ++r) {
      places_.push_back(r * call.n);
      bytes_.push_back(r * call.n * int(sizeof(double)));
    }
    counts_.assign(std::size_t(ranks_), call.n);
    types_.assign(std::size_t(ranks_), MPI_DOUBLE);
    check_ok(make(comm), name());
  }
  void wait() {
    check_ok(MPI_Wait(&request_, MPI_STATUS_IGNORE), name());
    const auto& got = out_.read();
    bool right = true;
    for (int i = 0; i < call_.n * ranks_; ++i) right = right && got[std::size_t(i)] == expected(i);
    check(right, name());
  }

 private:
  static int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  static int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
  }
  std::string name() const { return std::string(names[int(call_.what)]) + ", call " + std::to_string(call_.number); }

  double sum(int ranks, int i) const {
    double all = 0;
    for (int r = 0; r < ranks; ++r) all += value_of(call_.number, r, i);
    return all;
  }
  double expected(int i) const {
    const int n = call_.n, source = i / n, j = i % n;
    switch (call_.what) {
      case What::alltoall:
      case What::alltoallv:
      case What::alltoallw:
      case What::alltoall_in_place:
      case What::alltoallv_in_place:
      case What::alltoallw_in_place: return value_of(call_.number, source, rank_ * n + j);
      case What::allgather:
      case What::allgatherv: return value_of(call_.number, source, j);
      case What::gather:
      case What::gatherv: return rank_ == call_.root ? value_of(call_.number, source, j) : -1;
      case What::scatter:
      case What::scatterv: return i < n ? value_of(call_.number, call_.root, rank_ * n + j) : -1;
      case What::allreduce: return i < n ? sum(ranks_, i) : -1;
      case What::reduce: return i < n && rank_ == call_.root ? sum(ranks_, i) : -1;
      case What::reduce_scatter_block: return i < n ? sum(ranks_, rank_ * n + i) : -1;
      case What::scan: return i < n ? sum(rank_ + 1, i) : -1;
    }
    return 0;
  }

  /// The blocking call, or the nonblocking one.
  template <class Blocking, class Nonblocking, class... Arguments>
  int either(Blocking blocking, Nonblocking nonblocking, Arguments... arguments) {
    return call_.blocks ? blocking(arguments...) : nonblocking(arguments..., &request_);
  }
  int make(MPI_Comm comm) {
    const auto in = in_.data(), out = out_.data();
    const int n = call_.n, root = call_.root;
    const auto type = MPI_DOUBLE;
    const auto *counts = counts_.data(), *places = places_.data(), *bytes = bytes_.data();
    const auto* types = types_.data();
    const void* const here = MPI_IN_PLACE;
    const int* const none = nullptr;
    const MPI_Datatype no_type = MPI_DATATYPE_NULL;
    const MPI_Datatype* const no_types = nullptr;
    switch (call_.what) {
      case What::alltoall: return either(MPI_Alltoall, MPI_Ialltoall, in, n, type, out, n, type, comm);
      case What::alltoallv:
        return either(MPI_Alltoallv, MPI_Ialltoallv, in, counts, places, type, out, counts, places, type, comm);
      case What::alltoallw:
        return either(MPI_Alltoallw, MPI_Ialltoallw, in, counts, bytes, types, out, counts, bytes, types, comm);
      // What else describes the data to be sent is not looked at.
      case What::alltoall_in_place: return either(MPI_Alltoall, MPI_Ialltoall, here, 0, no_type, out, n, type, comm);
      case What::alltoallv_in_place:
        return either(MPI_Alltoallv, MPI_Ialltoallv, here, none, none, no_type, out, counts, places, type, comm);
      case What::alltoallw_in_place:
        return either(MPI_Alltoallw, MPI_Ialltoallw, here, none, none, no_types, out, counts, bytes, types, comm);
      case What::allgather: return either(MPI_Allgather, MPI_Iallgather, in, n, type, out, n, type, comm);
      case What::allgatherv:
        return either(MPI_Allgatherv, MPI_Iallgatherv, in, n, type, out, counts, places, type, comm);
      case What::gather: return either(MPI_Gather, MPI_Igather, in, n, type, out, n, type, root, comm);
      case What::gatherv: return either(MPI_Gatherv, MPI_Igatherv, in, n, type, out, counts, places, type, root, comm);
      case What::scatter: return either(MPI_Scatter, MPI_Iscatter, in, n, type, out, n, type, root, comm);
      case What::scatterv:
        return either(MPI_Scatterv, MPI_Iscatterv, in, counts, places, type, out, n, type, root, comm);
      case What::allreduce: return either(MPI_Allreduce, MPI_Iallreduce, in, out, n, type, MPI_SUM, comm);
      case What::reduce: return either(MPI_Reduce, MPI_Ireduce, in, out, n, type, MPI_SUM, root, comm);
      case What::reduce_scatter_block:
        return either(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, n, type, MPI_SUM, comm);
      case What::scan: return either(MPI_Scan, MPI_Iscan, in, out, n, type, MPI_SUM, comm);
    }
    return MPI_ERR_OTHER;
  }

  const Call call_;
  const int rank_, ranks_;
  Doubles in_, out_;
  std::vector<int> counts_, places_, bytes_;
  std::vector<MPI_Datatype> types_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Where a rank's memory is in a call.
enum class Where { all, first_rank, last_rank, later, nowhere };
constexpr Where wheres[] = {Where::all, Where::first_rank, Where::last_rank, Where::later, Where::nowhere};

Kind kind_of(Where where, int rank, int ranks, int call) {
  const bool there = where == Where::all || (where == Where::first_rank && rank == 0) ||
                     (where == Where::last_rank && rank == ranks - 1) || (where == Where::later && call >= 20);
  return there ? Kind::device : Kind::host;
}

/// `only`: no blocking calls, and no delays.
void on(MPI_Comm comm, Where where, unsigned seed, bool only) {
  constexpr int calls = 60, most_under_way = 4;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  std::mt19937 shared(seed), own(seed * 100 + unsigned(contract().rank) + 1);
  const auto chance = [](std::mt19937& random, int of) { return int(random() % unsigned(of)); };
  std::deque<std::unique_ptr<UnderWay>> under_way;
  const auto end_one = [&] {
    const auto which = under_way.begin() + chance(own, int(under_way.size()));
    (*which)->wait();
    under_way.erase(which);
  };
  for (int number = 0; number < calls; ++number) {
    constexpr int lengths[] = {1, 3, 300};
    const Call call{What(chance(shared, whats)), number, lengths[chance(shared, 3)], chance(shared, ranks),
                    chance(shared, 6) == 0 && !only};
    if (!only && chance(own, 4) == 0) usleep(unsigned(chance(own, 2000)));
    contract().section(std::string(names[int(call.what)]) + ", call " + std::to_string(number));
    under_way.push_back(std::make_unique<UnderWay>(call, comm, kind_of(where, rank, ranks, number)));
    while (int(under_way.size()) > chance(own, most_under_way)) end_one();
  }
  while (!under_way.empty()) end_one();
}

/// Topologies that are made before the program uses a GPU.
struct Topologies {
  Topologies() {
    const auto& c = contract();
    const int one = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &c.ranks, &one, 0, &ring);
    const std::vector<int> next(edges, (c.rank + 1) % c.ranks), before(edges, (c.rank + c.ranks - 1) % c.ranks);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, before.data(), MPI_UNWEIGHTED, edges, next.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  }
  ~Topologies() {
    MPI_Comm_free(&ring);
    MPI_Comm_free(&graph);
  }
  static constexpr int edges = 3;  // to the next rank
  MPI_Comm ring, graph;
};

/// A nonblocking neighbour collective of this rank, until it has ended.
class Exchange {
 public:
  /// `what`: an alltoall or an allgather, not in place. `sources`: for each edge to this rank, the
  /// rank it comes from and which of that rank's edges it is.
  Exchange(What what, int number, int n, Kind kind, MPI_Comm comm, std::vector<std::pair<int, int>> sources)
      : what_(what),
        number_(number),
        n_(n),
        sources_(std::move(sources)),
        in_(kind, n * int(sources_.size())),
        out_(kind, n * int(sources_.size())) {
    in_.count_from(value_of(number, contract().rank, 0));
    out_.fill(-1);
    for (int i = 0; i < int(sources_.size()); ++i) {
      places_.push_back(i * n);
      bytes_.push_back(i * n * MPI_Aint(sizeof(double)));
    }
    counts_.assign(sources_.size(), n);
    types_.assign(sources_.size(), MPI_DOUBLE);
    check_ok(make(comm), name());
  }
  void wait() {
    check_ok(MPI_Wait(&request_, MPI_STATUS_IGNORE), name());
    const bool gathers = what_ == What::allgather || what_ == What::allgatherv;
    const auto& got = out_.read();
    bool right = true;
    for (int i = 0; i < n_ * int(sources_.size()); ++i) {
      const auto& [rank, edge] = sources_[std::size_t(i / n_)];
      right = right && got[std::size_t(i)] == value_of(number_, rank, (gathers ? 0 : edge * n_) + i % n_);
    }
    check(right, name());
  }

 private:
  std::string name() const { return std::string("neighbours, ") + names[int(what_)] + " " + std::to_string(number_); }
  int make(MPI_Comm comm) {
    const auto in = in_.data(), out = out_.data();
    const auto type = MPI_DOUBLE;
    const auto *counts = counts_.data(), *places = places_.data();
    switch (what_) {
      case What::alltoall: return MPI_Ineighbor_alltoall(in, n_, type, out, n_, type, comm, &request_);
      case What::alltoallv:
        return MPI_Ineighbor_alltoallv(in, counts, places, type, out, counts, places, type, comm, &request_);
      case What::alltoallw:
        return MPI_Ineighbor_alltoallw(in, counts, bytes_.data(), types_.data(), out, counts, bytes_.data(),
                                       types_.data(), comm, &request_);
      case What::allgather: return MPI_Ineighbor_allgather(in, n_, type, out, n_, type, comm, &request_);
      default: return MPI_Ineighbor_allgatherv(in, n_, type, out, counts, places, type, comm, &request_);
    }
  }

  const What what_;
  const int number_, n_;
  const std::vector<std::pair<int, int>> sources_;
  Doubles in_, out_;
  std::vector<int> counts_, places_;
  std::vector<MPI_Aint> bytes_;
  std::vector<MPI_Datatype> types_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// `first_on_device`: the call from which on this rank's memory is a GPU's. From call `first_ours`
/// on the calls are surely Dunnage's: MPICH 4.0 takes several edges between two ranks for one
/// another.
void between_neighbours(const Topologies& topologies, unsigned seed, int first_on_device, int first_ours) {
  constexpr What whats_of[] = {What::alltoall, What::alltoallv, What::alltoallw, What::allgather, What::allgatherv};
  constexpr int calls = 30;
  const auto& c = contract();
  const int next = (c.rank + 1) % c.ranks, before = (c.rank + c.ranks - 1) % c.ranks;
  const std::vector<std::pair<int, int>> in_ring{{before, 1}, {next, 0}},
      in_graph{{before, 0}, {before, 1}, {before, 2}};
  std::mt19937 shared(seed), own(seed * 100 + unsigned(c.rank) + 1);
  contract().section("between neighbours");
  std::deque<std::unique_ptr<Exchange>> under_way;
  for (int number = 0; number < calls; ++number) {
    const bool graph = shared() % 2 == 0 && number >= first_ours;
    const auto what = whats_of[shared() % 5];
    const int n = shared() % 2 == 0 ? 2 : 500;
    if (own() % 4 == 0) usleep(unsigned(own() % 1000));
    const auto kind = number >= first_on_device ? Kind::device : Kind::host;
    under_way.push_back(std::make_unique<Exchange>(what, number, n, kind, graph ? topologies.graph : topologies.ring,
                                                   graph ? in_graph : in_ring));
    while (under_way.size() > own() % 3) {
      const auto which = under_way.begin() + std::ptrdiff_t(own() % under_way.size());
      (*which)->wait();
      under_way.erase(which);
    }
  }
  for (auto& one : under_way) one->wait();
}

/// Communicators that come and go, each with some calls on device memory.
void on_passing_communicators() {
  contract().section("communicators that come and go");
  for (int i = 0; i < 30; ++i) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int number = 0; number < 4; ++number)
      UnderWay({What::alltoall, number, 3, 0, false}, copy, Kind::device).wait();
    MPI_Comm_free(&copy);
  }
}

/// The type and the communicator are freed while the call is under way.
void freed_meanwhile() {
  contract().section("freed meanwhile");
  constexpr int n = 3;
  const int ranks = contract().ranks, rank = contract().rank;
  for (int call = 0; call < 4; ++call) {
    MPI_Comm copy;
    MPI_Datatype type;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    Doubles in(Kind::device, 2 * n), out(Kind::device, n * ranks);
    in.count_from(value_of(call, rank, 0));
    out.fill(-1);
    MPI_Request request;
    check_ok(MPI_Iallgather(in.data(), 1, type, out.data(), n, MPI_DOUBLE, copy, &request), "freed meanwhile");
    MPI_Type_free(&type);
    MPI_Comm_free(&copy);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "freed meanwhile, wait");
    const auto& got = out.read();
    bool right = true;
    for (int i = 0; i < n * ranks; ++i) right = right && got[std::size_t(i)] == value_of(call, i / n, 2 * (i % n));
    check(right, "freed meanwhile");
  }
}

#ifdef MPICH_VERSION
/// Each rank has data for the next one only, and null types for the others, which MPICH takes. The
/// first rank has data for nobody, so all its types are null.
void null_types() {
  contract().section("null types");
  constexpr int n = 5;
  const auto& c = contract();
  const auto ranks = std::size_t(c.ranks);
  const int next = (c.rank + 1) % c.ranks, before = (c.rank + c.ranks - 1) % c.ranks;
  for (int call = 0; call < 3; ++call) {
    Doubles in(Kind::device, n), out(Kind::device, n);
    in.count_from(value_of(call, c.rank, 0));
    out.fill(-1);
    std::vector<int> sent(ranks), received(ranks), places(ranks);
    std::vector<MPI_Datatype> out_types(ranks, MPI_DATATYPE_NULL), in_types(ranks, MPI_DATATYPE_NULL);
    if (c.rank != 0) sent[std::size_t(next)] = n, out_types[std::size_t(next)] = MPI_DOUBLE;
    if (before != 0) received[std::size_t(before)] = n, in_types[std::size_t(before)] = MPI_DOUBLE;
    MPI_Request request;
    check_ok(MPI_Ialltoallw(in.data(), sent.data(), places.data(), out_types.data(), out.data(), received.data(),
                            places.data(), in_types.data(), MPI_COMM_WORLD, &request),
             "null types");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "null types, wait");
    const auto& got = out.read();
    bool right = true;
    for (int i = 0; i < n; ++i) right = right && got[std::size_t(i)] == (before != 0 ? value_of(call, before, i) : -1);
    check(right, "null types");
  }
}
#endif

CONTRACT_PROGRAM(unasked) {
  Contract c("unasked", &argc, &argv);
  auto topologies = std::make_unique<Topologies>();
  const std::string argument = argc > 1 ? argv[1] : "";
  const bool only = argument == "device";
  unsigned seed = argument.empty() || only ? 1 : unsigned(std::stoi(argument));
  // On rings of fewer ranks the MPIs' own are wrong.
  if (our_neighbours() || c.ranks >= 3) {
    const int first = only || c.ranks < 3 ? 0 : 7 + c.rank % 2 * 7;
    between_neighbours(*topologies, seed, first, !our_neighbours() ? INT_MAX : first == 0 ? 0 : 15);
  }
  topologies.reset();
  for (const auto where : wheres) {
    if (only && where != Where::all) continue;
    // Communicators that one call has made, and one of a single rank.
    MPI_Comm half, copy;
    MPI_Comm_split(MPI_COMM_WORLD, c.rank % 2, 0, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (const auto comm : {MPI_COMM_WORLD, half, copy, MPI_COMM_SELF}) on(comm, where, seed++, only);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
  }
  on_passing_communicators();
  freed_meanwhile();
#ifdef MPICH_VERSION
  null_types();
#endif
  return c.finish();
}

}  // namespace gpu_unasked_contract
