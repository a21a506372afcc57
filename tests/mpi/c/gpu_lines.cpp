// Neighbour collectives that come again and again with data in device memory, so that ranks of one
// host announce them without messages. Ranks are late, and what they use changes: buffers, layouts,
// allocations, kinds of memory. On a periodic ring of ranks, and along a line of them. With
// CONTRACT_SHORT_BLOCKS=1 the program only does messages of short blocks.
#include <unistd.h>

#include <memory>
#include <random>

#include "device_doubles.hpp"
#include "sim_calls.hpp"
#include "surface.hpp"

namespace gpu_lines_contract {

/// Elements of a message, and the doubles between two of them.
struct Shape {
  int count, stride;
};
constexpr int most = 3000;  // doubles of a message and what lies between

MPI_Datatype type_of(const Shape& shape) {
  MPI_Datatype vector, type;
  MPI_Type_vector(shape.count, 1, shape.stride, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, most * MPI_Aint(sizeof(double)), &type);
  MPI_Type_free(&vector);
  MPI_Type_commit(&type);
  return type;
}

/// The messages of one rank: two out, two in. The first to the rank below, the second above.
struct Halo {
  Halo(Kind out_kind, Kind in_kind) : out(out_kind, 2 * most), in(in_kind, 2 * most) {}
  Doubles out, in;
};

double number_of(int rank, int round) { return 100 * round + 10 * rank; }

/// Whether message `from_message` of rank `from` came as message `to_message`.
bool came(const std::vector<double>& in, int to_message, const Shape& to, int from, int from_message, const Shape& out,
          int round) {
  for (int i = 0; i < most; ++i) {
    const bool expected = i % to.stride == 0 && i / to.stride < to.count;
    const int source = from_message * most + i / to.stride * out.stride;
    const double value = expected ? number_of(from, round) + double(source) / 8192 : -1;
    if (in[std::size_t(to_message * most + i)] != value) return false;
  }
  return true;
}

/// With a device that fails: an error ends the job.
bool errors_are_fatal() { return std::getenv("CONTRACT_ERRORS_ARE_FATAL") != nullptr; }

class Ring {
 public:
  Ring() {
    const int periodic = 1, n = contract().ranks;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &comm);
    if (!errors_are_fatal()) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Ring() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  int below() const { return (contract().rank + contract().ranks - 1) % contract().ranks; }
  int above() const { return (contract().rank + 1) % contract().ranks; }

  MPI_Comm comm;
};

constexpr int ones[] = {1, 1};
constexpr MPI_Aint places[] = {0, most * sizeof(double)};

/// What went down comes from above.
void look(Ring& ring, Halo& halo, const Shape& to, const Shape& out_below, const Shape& out_above, int round,
          const std::string& what) {
  const auto& in = halo.in.read();
  check(came(in, 0, to, ring.below(), 1, out_below, round), what + ", from below, round " + std::to_string(round));
  check(came(in, 1, to, ring.above(), 0, out_above, round), what + ", from above, round " + std::to_string(round));
}

/// Each rank chooses its memory and its layouts by chance, and is late by chance. All ranks know
/// what the others choose.
void everything_changes(unsigned seed) {
  contract().section("everything changes");
  Ring ring;
  const Kind kinds[] = {Kind::device, Kind::device,  Kind::device, Kind::device,
                        Kind::host,   Kind::managed, Kind::pool,   Kind::other_device};
  const Shape shapes[] = {{1000, 3}, {1000, 2}, {1000, 1}};
  struct Choice {
    int out_shape = 0, in_shape = 0;
    std::unique_ptr<Halo> halo;  // only this rank's own
  };
  std::vector<Choice> ranks(std::size_t(contract().ranks));
  std::mt19937 random(seed);
  const auto chance = [&](int n) { return int(random() % unsigned(n)); };
  for (int round = 0; round < 60; ++round) {
    int sleep = 0;
    for (int rank = 0; rank < contract().ranks; ++rank) {
      auto& one = ranks[std::size_t(rank)];
      const bool mine = rank == contract().rank;
      if (chance(6) == 0) one.out_shape = chance(3);
      if (chance(6) == 0) one.in_shape = chance(3);
      const bool fresh = chance(8) == 0 || round == 0;
      const auto out = kinds[chance(8)], in = kinds[chance(8)];
      const int late = chance(4) == 0 ? chance(4000) : 0;
      if (!mine) continue;
      const auto there = [](Kind kind) {
        return kind == Kind::other_device && devices().count < 2 ? Kind::device : kind;
      };
      if (fresh) one.halo = std::make_unique<Halo>(there(out), there(in));
      sleep = late;
    }
    auto& own = ranks[std::size_t(contract().rank)];
    own.halo->out.count_from(number_of(contract().rank, round));
    own.halo->in.fill(-1);
    if (sleep) usleep(useconds_t(sleep));
    MPI_Datatype out = type_of(shapes[own.out_shape]), in = type_of(shapes[own.in_shape]);
    const MPI_Datatype outs[] = {out, out}, ins[] = {in, in};
    const int code = MPI_Neighbor_alltoallw(own.halo->out.data(), ones, places, outs, own.halo->in.data(), ones, places,
                                            ins, ring.comm);
    check_ok(code, "everything changes");
    MPI_Type_free(&out);
    MPI_Type_free(&in);
    look(ring, *own.halo, shapes[own.in_shape], shapes[ranks[std::size_t(ring.below())].out_shape],
         shapes[ranks[std::size_t(ring.above())].out_shape], round, "everything changes");
  }
}

/// Another GPU reads packed copies of such data. Two ranks have two messages for each other, which
/// are not much alone. More ranks have two lines each, whose copies are made at the same time.
void short_blocks() {
  contract().section("much data in short blocks");
  Ring ring;
  const int count = contract().ranks > 2 ? 600000 : 300000, stride = 4;
  Doubles out(Kind::device, count * stride), in(Kind::device, count * stride);
  MPI_Datatype column;
  MPI_Type_vector(count, 1, stride, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  const MPI_Datatype types[] = {column, column};
  const MPI_Aint first[] = {0, sizeof(double)};
  for (int round = 0; round < 8; ++round) {
    out.count_from(number_of(contract().rank, round));
    in.fill(-1);
    // In one round nothing goes up. Then a line that was packed has too few data for that.
    const bool up = round != 5;
    const int to[] = {1, up}, from[] = {up, 1};
    check_ok(MPI_Neighbor_alltoallw(out.data(), to, first, types, in.data(), from, first, types, ring.comm),
             "short blocks");
    const auto& got = in.read();
    bool right = true;
    for (int i = 0; i < count * stride; ++i) {
      const auto value = [&](int rank, int place) {
        return number_of(rank, round) + double(i / stride * stride + place) / 8192;
      };
      const double expected = i % stride == 0 && up ? value(ring.below(), 1)
                              : i % stride == 1     ? value(ring.above(), 0)
                                                    : -1;
      right = right && got[std::size_t(i)] == expected;
    }
    check(right, "short blocks, round " + std::to_string(round));
  }
  MPI_Type_free(&column);
}

/// Data go up only. The ranks below do not wait for those above, which are late. So the senders
/// make copies, and overwrite their data at once. `count`: of elements with 8,000 bytes of data
/// each. Many of them do not fit into a small arena.
void late_receivers(int count) {
  contract().section("late receivers");
  const int me = contract().rank, n = contract().ranks;
  const Ints sources(me > 0 ? 1 : 0, me - 1), targets(me + 1 < n ? 1 : 0, me + 1);
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, int(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                 int(targets.size()), targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  const Shape shape{1000, 3};
  MPI_Datatype type = type_of(shape);
  Doubles out(Kind::device, count * most), in(Kind::device, count * most);
  for (int round = 0; round < 6; ++round) {
    out.count_from(number_of(me, round));
    in.fill(-1);
    if (round % 3 != 0) usleep(useconds_t(me * 5000));
    check_ok(MPI_Neighbor_alltoallw(out.data(), &count, places, &type, in.data(), &count, places, &type, comm),
             "late receivers");
    out.fill(-2);
    const auto& there = in.read();
    for (int i = 0; me > 0 && i < count; ++i)
      check(came(there, i, shape, me - 1, i, shape, round), "late receivers, data");
  }
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

/// What comes is longer than one rank expects, now and then. The other ranks hear nothing of it.
void too_long() {
  contract().section("too long");
  Ring ring;
  const Shape shape{1000, 3}, shorter{900, 3};
  MPI_Datatype type = type_of(shape), less = type_of(shorter);
  Halo halo(Kind::device, Kind::device);
  for (int round = 0; round < 12; ++round) {
    const bool bad = round % 4 == 3 && contract().rank == 0;
    const MPI_Datatype outs[] = {type, type}, ins[] = {bad ? less : type, type};
    halo.out.count_from(number_of(contract().rank, round));
    halo.in.fill(-1);
    const int code =
        MPI_Neighbor_alltoallw(halo.out.data(), ones, places, outs, halo.in.data(), ones, places, ins, ring.comm);
    check_class(code, bad ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "too long, round " + std::to_string(round));
    if (!bad) look(ring, halo, shape, shape, shape, round, "too long");
  }
  MPI_Type_free(&type);
  MPI_Type_free(&less);
}

/// An edge from rank 0 to rank 1 only. Such a graph can be made, but its collectives not be used.
void one_sided_graph() {
  contract().section("one-sided graph");
  const Ints ends(std::size_t(contract().ranks), 1);
  const int to = 1;
  MPI_Comm comm;
  check_ok(MPI_Graph_create(MPI_COMM_WORLD, contract().ranks, ends.data(), &to, 0, &comm), "one-sided graph");
  MPI_Comm_free(&comm);
}

/// The last rank to come finds the data of all others, and brings them in one launch.
void one_launch() {
  contract().section("one launch");
  Ring ring;
  const Shape shape{1000, 3};
  MPI_Datatype type = type_of(shape);
  const MPI_Datatype types[] = {type, type};
  Halo halo(Kind::device, Kind::device);
  auto fewest = ~0ull;
  for (int round = 0; round < 12; ++round) {
    halo.out.count_from(number_of(contract().rank, round));
    halo.in.fill(-1);
    PMPI_Barrier(MPI_COMM_WORLD);
    const auto before = sim_launches();
    check_ok(
        MPI_Neighbor_alltoallw(halo.out.data(), ones, places, types, halo.in.data(), ones, places, types, ring.comm),
        "one launch");
    const auto used = sim_launches() - before;
    look(ring, halo, shape, shape, shape, round, "one launch");
    if (round > 1) fewest = std::min(fewest, used);
  }
  auto least = fewest;
  PMPI_Allreduce(&fewest, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
  if (std::getenv("CONTRACT_LAUNCHES")) check_equal(int(least), 1, "one launch");
  MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
/// Several persistent operations, started in orders that differ from rank to rank, and completed by
/// MPI_Test or MPI_Wait. One uses host memory. One outlives its communicator.
void persistent() {
  contract().section("persistent");
  auto ring = std::make_unique<Ring>();
  const int below = ring->below(), above = ring->above();
  const Shape shape{1000, 3};
  MPI_Datatype type = type_of(shape);
  const MPI_Datatype types[] = {type, type};
  std::vector<std::unique_ptr<Halo>> halos;
  std::vector<MPI_Request> requests(4);
  for (auto& request : requests) {
    const auto kind = halos.size() == 2 ? Kind::host : Kind::device;
    auto& halo = *halos.emplace_back(std::make_unique<Halo>(kind, kind));
    check_ok(MPI_Neighbor_alltoallw_init(halo.out.data(), ones, places, types, halo.in.data(), ones, places, types,
                                         ring->comm, MPI_INFO_NULL, &request),
             "persistent, init");
  }
  MPI_Type_free(&type);  // the operations keep it
  for (int round = 0; round < 12; ++round) {
    for (std::size_t i = 0; i < halos.size(); ++i) {
      halos[i]->out.count_from(number_of(contract().rank, round) + 100000 * double(i));
      halos[i]->in.fill(-1);
    }
    const bool backwards = (contract().rank + round) % 2;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if ((round + contract().rank) % 5 == 0) usleep(2000);
      MPI_Start(&requests[backwards ? requests.size() - 1 - i : i]);
    }
    if (round % 3 == 0) {
      MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    } else if (round % 3 == 1) {
      for (auto& request : requests) check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "persistent, Wait");
    } else {
      for (auto& request : requests)
        for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    for (std::size_t i = 0; i < halos.size(); ++i) {
      auto in = halos[i]->in.read();
      for (auto& value : in) value -= value == -1 ? 0 : 100000 * double(i);
      const auto what = "persistent, operation " + std::to_string(i) + ", round " + std::to_string(round);
      check(came(in, 0, shape, below, 1, shape, round), what + ", from below");
      check(came(in, 1, shape, above, 0, shape, round), what + ", from above");
    }
    if (round == 8) ring.reset();
  }
  for (auto& request : requests) MPI_Request_free(&request);
}
#endif

CONTRACT_PROGRAM(lines) {
  Contract contract("lines", &argc, &argv);
  if (std::getenv("CONTRACT_SHORT_BLOCKS")) {
    short_blocks();
    return contract.finish();
  }
  for (const unsigned seed : {1u, 2u, 3u}) everything_changes(seed);
  short_blocks();
  late_receivers(1);
  late_receivers(300);
  if (!errors_are_fatal()) too_long();
  one_sided_graph();
  one_launch();
#if MPI_VERSION >= 4
  persistent();
#endif
  return contract.finish();
}

}  // namespace gpu_lines_contract
