// The neighbourhood collectives in each of their forms, on a grid and on a graph.
#include "surface.hpp"

namespace neighbours_contract {

constexpr auto allgather = FAMILY(Neighbor_allgather, Ineighbor_allgather);
constexpr auto allgatherv = FAMILY(Neighbor_allgatherv, Ineighbor_allgatherv);
constexpr auto alltoall = FAMILY(Neighbor_alltoall, Ineighbor_alltoall);
constexpr auto alltoallv = FAMILY(Neighbor_alltoallv, Ineighbor_alltoallv);
constexpr auto alltoallw = FAMILY(Neighbor_alltoallw, Ineighbor_alltoallw);

// Who gives me something and who gets something, in the order of the blocks; MPI_PROC_NULL is
// nobody.
struct Hood {
  MPI_Comm comm;
  std::string name;
  Ints sources, targets;
};

// A line of ranks, or a ring.
Hood grid(bool ring) {
  const int ranks = contract().ranks, periods = ring;
  Hood hood{MPI_COMM_NULL, (ring ? "ring of " : "line of ") + std::to_string(ranks), {}, {}};
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periods, 0, &hood.comm);
  int below, above;
  MPI_Cart_shift(hood.comm, 0, 1, &below, &above);
  hood.sources = hood.targets = {below, above};
  return hood;
}

// Each rank gives to the next two, which with two ranks is one of them itself.
Hood graph() {
  const int me = contract().rank, n = contract().ranks;
  Hood hood{MPI_COMM_NULL, "graph", {(me + n - 1) % n, (me + 2 * n - 2) % n}, {(me + 1) % n, (me + 2) % n}};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, hood.sources.data(), MPI_UNWEIGHTED, 2, hood.targets.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &hood.comm);
  return hood;
}

// How many elements go from one to the other.
int amount(int from, int to) { return (from + 2 * to) % 3; }

// Typed blocks side by side, each at a place of its own.
struct Blocks {
  std::vector<Type> owned;
  Types types;
  Ints numbers, places;  // in elements of the first type
  Aints at;              // in bytes
  std::vector<Buffer::Block> blocks;

  Blocks(const Signature& signature, int n, int first, bool several, const Ints& numbers_) : numbers(numbers_) {
    MPI_Aint next = 0;
    int place = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      owned.push_back(signature.type(several ? first + int(i) : first, n));
      const MPI_Datatype type = owned.back();
      const Bounds reach = bounds_of(typemap(type, numbers[i]));
      types.push_back(type);
      places.push_back(place);
      at.push_back(several ? next - reach.begin : place * owned.back().extent());
      blocks.push_back({type, numbers[i], at.back()});
      next += reach.end - reach.begin + 16;
      place += numbers[i] + (several ? 0 : 1);
    }
  }
};

void exchange(const Hood& hood, const Signature& signature, int n) {
  const int me = contract().rank;
  const std::string what = hood.name + ", " + signature.name + ", n " + std::to_string(n);
  const auto bytes = [&](int count) { return std::size_t(count) * n * signature.bytes; };
  Ints sends, receives;
  for (int to : hood.targets) sends.push_back(to == MPI_PROC_NULL ? 1 : amount(me, to));
  for (int from : hood.sources) receives.push_back(from == MPI_PROC_NULL ? 1 : amount(from, me));

  // Which block of my source's is mine. On a grid what it sends up arrives from below, also where
  // both neighbours are one and the same.
  const auto block = [&](int source) { return hood.name == "graph" ? source : 1 - source; };
  const auto receive_all = [&](Buffer& receive, int round, const std::string& label, const Ints& counts, bool own) {
    receive.expect_blocks(
        [&](int i) {
          const int from = hood.sources[i];
          if (from == MPI_PROC_NULL) return Bytes();
          return data(from, own ? me + 100 * block(i) : -1, round, bytes(counts[i]));
        },
        label);
  };
  const auto fill = [&](Buffer& send, int round, const Ints& counts) {
    Bytes all;
    for (std::size_t i = 0; i < counts.size(); ++i)
      all += data(me, hood.targets[i] + 100 * int(i), round, bytes(counts[i]));
    send.put(all);
  };

  const Ints twos(2, 2);
  {
    const Type send_type = signature.type(me, 2 * n), receive_type = signature.type(me + 1, n);
    Buffer send(send_type, 1);
    const MPI_Aint extent = receive_type.extent();
    Buffer receive({{receive_type, 2, 0}, {receive_type, 2, 2 * extent}});
    const auto before = [&](int round) {
      send.put(data(me, -1, round, bytes(2)));
      receive.poison();
    };
    every_form(
        allgather, what, before,
        [&](int round, const std::string& label) { receive_all(receive, round, label, twos, false); }, send.address(),
        1, MPI_Datatype(send_type), receive.address(), 2, MPI_Datatype(receive_type), hood.comm);

    Buffer spread({{receive_type, 2, 4 * extent}, {receive_type, 2, 0}});
    every_form(
        allgatherv, what,
        [&](int round) {
          before(round);
          spread.poison();
        },
        [&](int round, const std::string& label) { receive_all(spread, round, label, twos, false); }, send.address(), 1,
        MPI_Datatype(send_type), spread.address(), Counts(twos), Displs(Ints{4, 0}), MPI_Datatype(receive_type),
        hood.comm);
  }
  {
    const Type send_type = signature.type(me, n), receive_type = signature.type(me + 1, n);
    Buffer send(send_type, 4);
    const MPI_Aint extent = receive_type.extent();
    Buffer receive({{receive_type, 2, 0}, {receive_type, 2, 2 * extent}});
    every_form(
        alltoall, what,
        [&](int round) {
          fill(send, round, twos);
          receive.poison();
        },
        [&](int round, const std::string& label) { receive_all(receive, round, label, twos, true); }, send.address(), 2,
        MPI_Datatype(send_type), receive.address(), 2, MPI_Datatype(receive_type), hood.comm);
  }
  for (bool several : {false, true}) {
    const Blocks out(signature, n, me, several, sends), in(signature, n, me + 2, several, receives);
    Buffer send(out.blocks), receive(in.blocks);
    const auto before = [&](int round) {
      fill(send, round, sends);
      receive.poison();
    };
    const auto after = [&](int round, const std::string& label) { receive_all(receive, round, label, receives, true); };
    if (several)
      every_form(alltoallw, what, before, after, send.address(), Counts(out.numbers), out.at.data(), out.types.data(),
                 receive.address(), Counts(in.numbers), in.at.data(), in.types.data(), hood.comm);
    else
      every_form(alltoallv, what, before, after, send.address(), Counts(out.numbers), Displs(out.places), out.types[0],
                 receive.address(), Counts(in.numbers), Displs(in.places), in.types[0], hood.comm);
  }
}

// The ranks agree in a communicator's first neighbour collective on whose these collectives are.
// Device memory must take part in it.
void introduce(const Hood& hood) {
#ifdef CONTRACT_GPU
  if (!our_neighbours()) return;
  const CudaMemory out(Kind::device, sizeof(int)), in(Kind::device, 2 * sizeof(int));
  check_ok(MPI_Neighbor_allgather(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, hood.comm), "the first collective");
#else
  (void)hood;
#endif
}

int heard = 0;
void hear(MPI_Comm*, int*, ...) { ++heard; }

// A message that is too long for its place: the communicator's error handler hears of it, and the
// communicator goes on.
void too_long(const Hood& hood) {
  if (!our_neighbours() || contract().ranks < 2 || hood.name.rfind("ring", 0) != 0) return;
  contract().section("too long");
  std::vector<double> out(4, contract().rank), in(4, -1);
  heard = 0;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(hood.comm, handler);
  const int code = MPI_Neighbor_alltoall(out.data(), 2, MPI_DOUBLE, in.data(), 1, MPI_DOUBLE, hood.comm);
  check_class(code, MPI_ERR_TRUNCATE, "MPI_Neighbor_alltoall, too long");
  check_equal(heard, 1, "MPI_Neighbor_alltoall, too long, the handler");
  MPI_Comm_set_errhandler(hood.comm, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  check_ok(MPI_Neighbor_alltoall(out.data(), 2, MPI_DOUBLE, in.data(), 2, MPI_DOUBLE, hood.comm), "after too long");
  check(in[0] == hood.sources[0] && in[3] == hood.sources[1], "after too long, data");
}

// Neighbours need not be symmetric, and a graph may have ranks without any.
void star() {
  if (!our_neighbours()) return;
  contract().section("star");
  const int me = contract().rank, n = contract().ranks;
  Ints sources, targets;
  if (me == 0)
    for (int rank = 1; rank < n; ++rank) targets.push_back(rank);
  else
    sources.push_back(0);
  // Of a graph that was made from a Cartesian communicator, Open MPI 5 says that it is Cartesian.
  const int periodic = 0;
  MPI_Comm grid, comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &grid);
  MPI_Dist_graph_create_adjacent(grid, int(sources.size()), sources.data(), MPI_UNWEIGHTED, int(targets.size()),
                                 targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  for (int round = 0; round < 3; ++round) {
    const int out = 100 + round;
    int in = -1;
    check_ok(MPI_Neighbor_allgather(&out, 1, MPI_INT, &in, 1, MPI_INT, comm), "star");
    check_equal(in, me == 0 ? -1 : out, "star, data");
  }
  MPI_Comm_free(&comm);
  MPI_Comm_free(&grid);
}

CONTRACT_PROGRAM(neighbours) {
  Contract contract("neighbours", &argc, &argv);
  wanted().insert(argv + 1, argv + argc);
  for (Hood hood : {grid(false), grid(true), graph()}) {
    MPI_Comm_set_errhandler(hood.comm, MPI_ERRORS_RETURN);
    introduce(hood);
    for (const Signature& signature : signatures())
      for (int n : signature.sizes()) exchange(hood, signature, n);
    too_long(hood);
    MPI_Comm_free(&hood.comm);
  }
  star();
  say_called();
  return contract.finish();
}

}  // namespace neighbours_contract
