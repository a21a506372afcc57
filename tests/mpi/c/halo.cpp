// The exchange of ghost cells on a periodic grid, as programs do it: 26 regions or six faces, by
// nonblocking and persistent messages and every completing call. Rings of one and of two ranks are
// among them. Every cell is checked. With CONTRACT_GPU the cells are in device memory, and on the
// simulated device the launches of an exchange are counted.
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "contract.hpp"
#include "sim_calls.hpp"

#ifdef CONTRACT_GPU
#include "device_doubles.hpp"
#endif

namespace halo_contract {

using Triple = std::array<int, 3>;  // x, y, z; x is the fastest in memory

std::vector<Triple> all_directions() {
  std::vector<Triple> all;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        if (x || y || z) all.push_back({x, y, z});
  return all;
}

/// A cube of `n` cells along each side, with ghost cells, `h` deep, around it.
class Cube {
 public:
  Cube(MPI_Comm comm, int n, int h)
      : comm_(comm), n_(n), h_(h), side_(n + 2 * h), cells_(std::size_t(side_ * side_ * side_)) {
    Triple periodic;
    MPI_Cart_get(comm, 3, dims_.data(), periodic.data(), place_.data());
#ifdef CONTRACT_GPU
    memory_ = std::make_unique<CudaMemory>(Kind::device, cells_.size() * sizeof(double));
#endif
  }

  void* address() {
#ifdef CONTRACT_GPU
    return memory_->data();
#else
    return cells_.data();
#endif
  }

  /// The cells inside get their values, and the ghost cells others.
  void fill(int round) {
    each([&](const Triple& at, double& cell) { cell = inside(at) ? value(at, round) : -1; });
#ifdef CONTRACT_GPU
    memory_->write(cells_.data());
#endif
  }

  void check_all(int round, const std::string& what) {
#ifdef CONTRACT_GPU
    const auto bytes = memory_->read();
    std::memcpy(cells_.data(), bytes.data(), bytes.size());
#endif
    long wrong = 0;
    each([&](const Triple& at, double& cell) { wrong += cell != value(at, round); });
    check(wrong == 0, what, std::to_string(wrong) + " wrong cells");
  }

  int neighbour(const Triple& d) const {
    Triple at;
    for (int k = 0; k < 3; ++k) at[std::size_t(k)] = place_[std::size_t(k)] + d[std::size_t(k)];
    int rank;
    MPI_Cart_rank(comm_, at.data(), &rank);
    return rank;
  }

  /// The cells that go to the neighbour in that direction, or the ghost cells that come from there.
  /// `with_ghosts`: along dimensions below this one the region has its ghost cells too.
  MPI_Datatype region(const Triple& d, bool ghosts, int with_ghosts = 0) const {
    int sizes[3], lengths[3], begins[3];
    for (int k = 0; k < 3; ++k) {
      const int c = 2 - k, towards = d[std::size_t(c)];  // the slowest dimension first
      sizes[k] = side_;
      if (towards == 0) {
        lengths[k] = c < with_ghosts ? side_ : n_;
        begins[k] = c < with_ghosts ? 0 : h_;
      } else {
        lengths[k] = h_;
        begins[k] = towards < 0 ? (ghosts ? 0 : h_) : (ghosts ? h_ + n_ : n_);
      }
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, lengths, begins, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
  }

 private:
  template <class F>
  void each(F&& f) {
    auto* cell = cells_.data();
    for (int z = 0; z < side_; ++z)
      for (int y = 0; y < side_; ++y)
        for (int x = 0; x < side_; ++x) f({x, y, z}, *cell++);
  }
  bool inside(const Triple& at) const {
    for (const int x : at)
      if (x < h_ || x >= h_ + n_) return false;
    return true;
  }
  /// Of the cell of the whole grid, which is periodic.
  double value(const Triple& at, int round) const {
    double sum = round;
    for (int k = 0; k < 3; ++k) {
      const auto i = std::size_t(k);
      const int length = dims_[i] * n_, x = (place_[i] * n_ + at[i] - h_ + length) % length;
      sum += x * std::pow(1000, k + 1);
    }
    return sum;
  }

  MPI_Comm comm_;
  int n_, h_, side_;
  Triple dims_, place_;
  std::vector<double> cells_;
#ifdef CONTRACT_GPU
  std::unique_ptr<CudaMemory> memory_;
#endif
};

/// The messages of an exchange: receives first, then sends.
class Messages {
 public:
  Messages(Cube& cube, MPI_Comm comm, const std::vector<Triple>& directions, int with_ghosts = 0)
      : cube_(cube), comm_(comm) {
    for (const auto& d : directions) {
      const Triple back{-d[0], -d[1], -d[2]};
      // A message is named by the direction in which it goes.
      ins_.push_back({cube.region(d, true, with_ghosts), cube.neighbour(d), tag_of(back)});
      outs_.push_back({cube.region(d, false, with_ghosts), cube.neighbour(d), tag_of(d)});
    }
    requests.resize(2 * directions.size(), MPI_REQUEST_NULL);
  }
  ~Messages() {
    for (auto* all : {&ins_, &outs_})
      for (auto& one : *all) MPI_Type_free(&one.type);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  template <class Receive, class Send>
  void begin(Receive&& receive, Send&& send, bool sends_first = false) {
    const auto n = ins_.size();
    const auto receives = [&] {
      for (std::size_t i = 0; i < n; ++i)
        receive(cube_.address(), 1, ins_[i].type, ins_[i].rank, ins_[i].tag, comm_, &requests[i]);
    };
    if (!sends_first) receives();
    for (std::size_t i = 0; i < n; ++i)
      send(cube_.address(), 1, outs_[i].type, outs_[i].rank, outs_[i].tag, comm_, &requests[n + i]);
    if (sends_first) receives();
  }
  int count() const { return int(requests.size()); }

  std::vector<MPI_Request> requests;

 private:
  static int tag_of(const Triple& d) { return 13 + d[0] + 3 * d[1] + 9 * d[2]; }
  struct One {
    MPI_Datatype type;
    int rank, tag;
  };
  Cube& cube_;
  MPI_Comm comm_;
  std::vector<One> ins_, outs_;
};

enum class Wait { all, any, some, testall, one };
const char* const wait_names[] = {"Waitall", "Waitany", "Waitsome", "Testall", "Wait one by one"};

void finish(std::vector<MPI_Request>& requests, Wait how) {
  const int n = int(requests.size());
  std::vector<int> indices(requests.size());
  int index = 0, done = 0;
  switch (how) {
    case Wait::all: MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE); break;
    case Wait::any:
      while (index != MPI_UNDEFINED) MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE);
      break;
    case Wait::some:
      while (done != MPI_UNDEFINED) MPI_Waitsome(n, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      break;
    case Wait::testall:
      while (!done) MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE);
      break;
    case Wait::one:
      for (auto& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// The fewest launches of some exchanges. With CONTRACT_LAUNCHES the best exchange of each rank
/// must not need more. A rank may lose its core before all messages are there, so all ranks try
/// some more times if need be.
class Launches {
 public:
  /// `factor`: of what CONTRACT_LAUNCHES allows; 0: any number will do.
  explicit Launches(MPI_Comm comm, unsigned factor = 1) : comm_(comm) {
    const char* most = std::getenv("CONTRACT_LAUNCHES");
    if (most && factor > 0) most_ = std::strtoull(most, nullptr, 10) * factor;
  }
  /// Whether another exchange is to be done.
  bool again() {
    if (rounds_++ < 4) return true;
    int enough = few() || rounds_ > 40, all = 0;
    PMPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, comm_);
    return !all;
  }
  /// The first exchange does not count: ranks do not know each other yet.
  void count(unsigned long long used) {
    if (rounds_ > 1) fewest_ = std::min(fewest_, used);
  }
  void judge(const std::string& what) const {
    if (most_ > 0) check(few(), what + ", launches", std::to_string(fewest_));
  }

 private:
  bool few() const { return most_ == 0 || (fewest_ > 0 && fewest_ <= most_); }
  const MPI_Comm comm_;
  unsigned long long most_ = 0, fewest_ = ~0ull;
  int rounds_ = 0;
};

void exchanges(MPI_Comm comm, int n, int h) {
  Cube cube(comm, n, h);
  int round = 0;
  const auto name = [&](const std::string& what) {
    return what + ", " + std::to_string(n) + " cells, " + std::to_string(h) + " deep";
  };
  const char* most = std::getenv("CONTRACT_LAUNCHES");
  // First of all: the requests are made when no rank knows yet what the others can read.
  contract().section("persistent");
  for (const bool together : {true, false}) {
    Messages messages(cube, comm, all_directions());
    messages.begin(MPI_Recv_init, MPI_Send_init);
    const auto what = name(std::string("26 regions, persistent, ") + (together ? "Startall" : "Start"));
    Launches counted(comm);
    while (counted.again()) {
      cube.fill(++round);
      PMPI_Barrier(comm);
      const auto before = sim_launches();
      if (together)
        MPI_Startall(messages.count(), messages.requests.data());
      else
        for (auto& request : messages.requests) MPI_Start(&request);
      if (most) PMPI_Barrier(comm);
      finish(messages.requests, Wait::all);
      counted.count(sim_launches() - before);
      cube.check_all(round, what);
    }
    counted.judge(what);
    for (auto& request : messages.requests) MPI_Request_free(&request);
  }

  for (const auto how : {Wait::all, Wait::any, Wait::some, Wait::testall, Wait::one})
    for (const bool sends_first : {false, true}) {
      const auto what = name(std::string("26 regions, ") + wait_names[int(how)] + (sends_first ? ", sends first" : ""));
      contract().section(what);
      Messages messages(cube, comm, all_directions());
      Launches counted(comm, how == Wait::all ? 1 : 0);
      while (counted.again()) {
        cube.fill(++round);
        PMPI_Barrier(comm);
        const auto before = sim_launches();
        messages.begin(MPI_Irecv, MPI_Isend, sends_first);
        if (most) PMPI_Barrier(comm);  // all messages are there
        finish(messages.requests, how);
        counted.count(sim_launches() - before);
        cube.check_all(round, what);
      }
      counted.judge(what);
    }

  contract().section("six faces");
  for (int again = 0; again < 3; ++again) {
    cube.fill(++round);
    // Edges and corners come along with the faces of later dimensions.
    for (int k = 0; k < 3; ++k) {
      Triple up{0, 0, 0}, down{0, 0, 0};
      up[std::size_t(k)] = 1;
      down[std::size_t(k)] = -1;
      Messages messages(cube, comm, {down, up}, k);
      messages.begin(MPI_Irecv, MPI_Isend);
      finish(messages.requests, Wait::all);
    }
    cube.check_all(round, name("six faces"));
  }
}

#ifdef CONTRACT_GPU
/// Two messages of 4.8 MB to the next rank of a ring: single doubles become pairs. A sender packs
/// them if its receiver has another GPU.
void short_blocks(MPI_Comm comm, bool persistent) {
  contract().section("short blocks");
  constexpr int n = 600000;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Datatype singles, pairs;
  MPI_Type_vector(n, 1, 4, MPI_DOUBLE, &singles);
  MPI_Type_vector(n / 2, 2, 4, MPI_DOUBLE, &pairs);
  MPI_Type_commit(&singles);
  MPI_Type_commit(&pairs);
  Doubles out(Kind::device, 4 * n), in(Kind::device, 2 * n);
  std::array<MPI_Request, 4> requests;
  const auto make = [&](auto receive, auto send) {
    for (int i = 0; i < 2; ++i) {
      check_ok(receive(in.data() + 2 * i, 1, pairs, before, i, comm, &requests[std::size_t(i)]), "receive");
      check_ok(send(out.data() + i, 1, singles, next, i, comm, &requests[std::size_t(2 + i)]), "send");
    }
  };
  if (persistent) make(MPI_Recv_init, MPI_Send_init);
  for (int round = 0; round < 6; ++round) {
    out.count_from(1000 * round + 100 * rank);
    in.fill(-1);
    PMPI_Barrier(comm);
    if (persistent)
      check_ok(MPI_Startall(4, requests.data()), "Startall");
    else
      make(MPI_Irecv, MPI_Isend);
    check_ok(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE), "Waitall");
    const auto& got = in.read();
    int wrong = 0;
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < n; ++k)
        wrong += got[std::size_t(k / 2 * 4 + 2 * i + k % 2)] != 1000 * round + 100 * before + double(4 * k + i) / 8192;
    check(wrong == 0, "the doubles of short blocks", std::to_string(wrong));
  }
  if (persistent)
    for (auto& request : requests) MPI_Request_free(&request);
  MPI_Type_free(&singles);
  MPI_Type_free(&pairs);
}
#endif

/// MPI_Neighbor_alltoallw on a graph of the 26 neighbours. The MPIs' own confuse neighbours where
/// one rank is several, so only Dunnage's is checked.
void by_neighbour_collectives(MPI_Comm comm, int n, int h) {
  if (!std::getenv("CONTRACT_OUR_NEIGHBOURS")) return;
  contract().section("neighbour collectives");
  Cube cube(comm, n, h);
  const auto directions = all_directions();
  const auto count = directions.size();
  std::vector<int> targets, counts(count, 1);
  std::vector<MPI_Aint> places(count, 0);
  std::vector<MPI_Datatype> outs, ins;
  for (std::size_t i = 0; i < count; ++i) {
    targets.push_back(cube.neighbour(directions[i]));
    outs.push_back(cube.region(directions[i], false));
    ins.push_back(cube.region(directions[count - 1 - i], true));  // the opposite direction
  }
  const std::vector<int> sources(targets.rbegin(), targets.rend());
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(comm, int(count), sources.data(), MPI_UNWEIGHTED, int(count), targets.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  Launches counted(comm, 2);  // no barrier can hold the data back until all messages are there
  for (int round = 0; counted.again(); ++round) {
    cube.fill(round);
    PMPI_Barrier(comm);
    const auto before = sim_launches();
    check_ok(MPI_Neighbor_alltoallw(cube.address(), counts.data(), places.data(), outs.data(), cube.address(),
                                    counts.data(), places.data(), ins.data(), graph),
             "neighbour collective");
    counted.count(sim_launches() - before);
    cube.check_all(round, "neighbour collective");
  }
  counted.judge("neighbour collective");
  for (auto* types : {&outs, &ins})
    for (auto& type : *types) MPI_Type_free(&type);
  MPI_Comm_free(&graph);
}

CONTRACT_PROGRAM(halo) {
  Contract c("halo", &argc, &argv);
  Triple dims{0, 0, 0}, periodic{1, 1, 1};
  MPI_Dims_create(c.ranks, 3, dims.data());
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims.data(), periodic.data(), 0, &comm);
  exchanges(comm, 4, 1);
  exchanges(comm, 40, 2);
#ifdef CONTRACT_GPU
  short_blocks(comm, false);
  short_blocks(comm, true);
#endif
  by_neighbour_collectives(comm, 4, 1);
  by_neighbour_collectives(comm, 24, 2);
  MPI_Comm_free(&comm);
  return c.finish();
}

}  // namespace halo_contract
