// Neighbour collectives in host memory: random graphs, counts and types, ranks that are late,
// communicators that end early, threads, and a rank that is killed.
//
//   contract_rings [threads | killed [nonblocking]]
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <thread>

#include "surface.hpp"

namespace rings_contract {

/// A graph in which each rank may give another several things, itself too. All ranks know all of
/// it: the numbers follow from the seed.
struct Graph {
  MPI_Comm comm = MPI_COMM_NULL;
  Ints sources, targets;
  Ints from, to;  // which of the things that the other rank gives, or gets

  Graph(MPI_Comm old, unsigned seed, bool one_way = false) {
    const int me = contract().rank, n = contract().ranks;
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) {
        std::mt19937 rng(seed * 7919 + unsigned(a * 97 + b));
        const int many = one_way ? b == a + 1 : int(rng() % 4) - int(rng() % 2);
        for (int k = 0; k < many; ++k) {
          if (a == me) targets.push_back(b);
          if (b == me) sources.push_back(a);
        }
      }
    std::mt19937 order(seed + unsigned(me));
    std::shuffle(targets.begin(), targets.end(), order);
    std::shuffle(sources.begin(), sources.end(), order);
    from = counted(sources);
    to = counted(targets);
    MPI_Dist_graph_create_adjacent(old, int(sources.size()), sources.data(), MPI_UNWEIGHTED, int(targets.size()),
                                   targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Graph() {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

 private:
  static Ints counted(const Ints& peers) {
    std::map<int, int> count;
    Ints which;
    for (const int peer : peers) which.push_back(count[peer]++);
    return which;
  }
};

/// The arguments of an alltoallw on a graph, and what it must bring.
class Exchange {
 public:
  Exchange(const Graph& graph, unsigned seed) : graph_(graph), seed_(seed) {
    const int me = contract().rank;
    for (std::size_t i = 0; i < graph.targets.size(); ++i)
      out_.add(signature(), me + int(i), amount(me, graph.targets[i], graph.to[i]));
    for (std::size_t i = 0; i < graph.sources.size(); ++i)
      in_.add(signature(), me + 1 + int(i), amount(graph.sources[i], me, graph.from[i]));
    out_.make();
    in_.make();
  }

  void fill(int round) {
    Bytes all;
    for (std::size_t i = 0; i < graph_.targets.size(); ++i)
      all += block(contract().rank, graph_.targets[i], graph_.to[i], round);
    out_.buffer->put(all);
    in_.buffer->poison();
  }
  int run() {
    return MPI_Neighbor_alltoallw(out_.buffer->address(), out_.counts.data(), out_.at.data(), out_.types.data(),
                                  in_.buffer->address(), in_.counts.data(), in_.at.data(), in_.types.data(),
                                  graph_.comm);
  }
  int begin(MPI_Request* request) {
    return MPI_Ineighbor_alltoallw(out_.buffer->address(), out_.counts.data(), out_.at.data(), out_.types.data(),
                                   in_.buffer->address(), in_.counts.data(), in_.at.data(), in_.types.data(),
                                   graph_.comm, request);
  }
#if MPI_VERSION >= 4
  int init(MPI_Request* request) {
    return MPI_Neighbor_alltoallw_init(out_.buffer->address(), out_.counts.data(), out_.at.data(), out_.types.data(),
                                       in_.buffer->address(), in_.counts.data(), in_.at.data(), in_.types.data(),
                                       graph_.comm, MPI_INFO_NULL, request);
  }
#endif
  void expect(int round, const std::string& what) {
    in_.buffer->expect_blocks(
        [&](int i) {
          const auto place = std::size_t(i);
          return block(graph_.sources[place], contract().rank, graph_.from[place], round);
        },
        what);
  }

 private:
  struct Side {
    std::vector<Type> owned;
    Types types;
    Ints counts;
    Aints at;
    std::vector<Buffer::Block> blocks;
    MPI_Aint next = 0;
    std::unique_ptr<Buffer> buffer;

    void add(const Signature& signature, int layout, int elements) {
      // All of them in one element, or each in one.
      const bool single = layout % 2 && elements > 0;
      owned.push_back(signature.type(layout, single ? elements : 1));
      types.push_back(owned.back());
      counts.push_back(single ? 1 : elements);
      const Bounds reach = bounds_of(typemap(types.back(), counts.back()));
      at.push_back(next - reach.begin);
      blocks.push_back({types.back(), counts.back(), at.back()});
      next += reach.end - reach.begin + 16;
    }
    void make() { buffer = std::make_unique<Buffer>(blocks, true); }
  };

  const Signature& signature() const { return signatures()[seed_ % signatures().size()]; }
  /// Nothing, little, or, now and then, more than a ring holds.
  int amount(int from, int to, int which) const {
    std::mt19937 rng(seed_ * 31 + unsigned(from * 1009 + to * 11 + which));
    const unsigned kind = rng() % 8;
    if (signature().mixed) return int(rng() % 60);
    return int(kind == 0 ? 0 : kind == 1 ? 40000 + rng() % 30000 : rng() % 700);
  }
  Bytes block(int from, int to, int which, int round) const {
    return data(from, to + 100 * which, round, std::size_t(amount(from, to, which)) * signature().bytes);
  }

  const Graph& graph_;
  const unsigned seed_;
  Side out_, in_;
};

void random_graphs(MPI_Comm comm, unsigned seed, int rounds, const std::string& what) {
  for (int round = 0; round < rounds; ++round) {
    const unsigned one = seed + unsigned(round) * 17;
    contract().section(what + ", seed " + std::to_string(one));
    const Graph graph(comm, one);
    for (unsigned call = 0; call < 4; ++call) {
      Exchange exchange(graph, one + call / 2);  // two calls with the same arguments, in other memory
      for (int again = 0; again < 2; ++again) {
        exchange.fill(again);
        if (contract().rank == int(one + call) % contract().ranks && again) usleep(2000);
        check_ok(exchange.run(), what);
        exchange.expect(again, what + ", data");
      }
    }
  }
}

/// What the neighbours still read when the communicator is gone.
void freed_at_once() {
  contract().section("freed at once");
  for (unsigned round = 0; round < 20; ++round) {
    auto graph = std::make_unique<Graph>(MPI_COMM_WORLD, 500 + round / 4);
    Exchange exchange(*graph, 600 + 2 * round);
    exchange.fill(1);
    if (contract().rank == int(round) % contract().ranks) usleep(1000);
    check_ok(exchange.run(), "freed at once");
    graph.reset();
    // Memory that is given back is taken again.
    const Graph other(MPI_COMM_WORLD, 700 + round);
    Exchange next(other, 800 + 2 * round);
    next.fill(2);
    check_ok(next.run(), "freed at once, another communicator");
  }
}

void several_communicators() {
  contract().section("several communicators");
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (unsigned i = 0; i < 8; ++i) {
    graphs.push_back(std::make_unique<Graph>(MPI_COMM_WORLD, 900 + i));
    exchanges.push_back(std::make_unique<Exchange>(*graphs.back(), 1000 + i));
  }
  for (int round = 0; round < 3; ++round) {
    for (auto& exchange : exchanges) {
      exchange->fill(round);
      check_ok(exchange->run(), "several communicators");
    }
    for (auto& exchange : exchanges) exchange->expect(round, "several communicators, data");
  }
}

/// The last rank comes only when it has a message of the first one. That message is long, so the
/// first rank must go on with it while it waits in the collective.
void other_messages() {
  contract().section("other messages");
  const int me = contract().rank, last = contract().ranks - 1;
  if (last < 1) return;
  const Graph graph(MPI_COMM_WORLD, 1100);
  Exchange exchange(graph, 1200);
  std::vector<double> message(1 << 19, me);
  for (int round = 0; round < 3; ++round) {
    exchange.fill(round);
    MPI_Request request = MPI_REQUEST_NULL;
    if (me == 0) MPI_Isend(message.data(), int(message.size()), MPI_DOUBLE, last, 3, MPI_COMM_WORLD, &request);
    if (me == last) MPI_Recv(message.data(), int(message.size()), MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_ok(exchange.run(), "other messages");
    exchange.expect(round, "other messages, data");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me == last) check(message.back() == 0, "other messages, the message");
  }
}

/// Each rank gives the next one something, and takes nothing from it. Late ranks are last.
void one_way() {
  contract().section("one way");
  const Graph graph(MPI_COMM_WORLD, 1300, true);
  Exchange exchange(graph, 1400);
  for (int round = 0; round < 20; ++round) {
    exchange.fill(round);
    if (contract().rank == contract().ranks - 1 && round % 5 == 0) usleep(3000);
    check_ok(exchange.run(), "one way");
    exchange.expect(round, "one way, data");
  }
}

/// Several at a time. Each rank completes them in an order of its own, by waiting or by testing.
void nonblocking(MPI_Comm comm, unsigned seed, unsigned graphs, const std::string& what) {
  for (unsigned one = seed; one < seed + graphs; ++one) {
    contract().section(what + ", seed " + std::to_string(one));
    const Graph graph(comm, one);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (unsigned i = 0; i < 6; ++i) exchanges.push_back(std::make_unique<Exchange>(graph, 10 * one + i));
    std::vector<MPI_Request> requests(exchanges.size());
    std::vector<std::size_t> order(exchanges.size());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 rng(one * 13 + unsigned(contract().rank));
    for (int round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < exchanges.size(); ++i) {
        exchanges[i]->fill(round);
        if (rng() % 8 == 0) usleep(rng() % 2000);
        check_ok(exchanges[i]->begin(&requests[i]), what + ", begin");
      }
      std::shuffle(order.begin(), order.end(), rng);
      for (const auto i : order) {
        int done = 0;
        if (rng() % 2) check_ok(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), what + ", wait"), done = 1;
        while (!done) check_ok(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE), what + ", test");
        exchanges[i]->expect(round, what + ", data");
      }
    }
  }
}

/// One after the other. Each rank is late in turn, so that the others look at what is being posted.
void one_at_a_time() {
  contract().section("one at a time");
  const Graph graph(MPI_COMM_WORLD, 4000);
  const auto sources = graph.sources.size();
  std::vector<int> in(sources);
  std::mt19937 rng(4001);
  for (int round = 0; round < 5000; ++round) {
    const int out = 10 * round + contract().rank;
    std::fill(in.begin(), in.end(), -1);
    const auto late = std::chrono::steady_clock::now() + std::chrono::nanoseconds(rng() % 5000);
    while (contract().rank == round % contract().ranks && std::chrono::steady_clock::now() < late) continue;
    MPI_Request request;
    MPI_Ineighbor_allgather(&out, 1, MPI_INT, in.data(), 1, MPI_INT, graph.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (std::size_t s = 0; s < sources; ++s)
      if (in[s] != 10 * round + graph.sources[s]) return check(false, "one at a time, round " + std::to_string(round));
  }
}

/// A rank may be far ahead, and the others wait in another call.
void far_ahead() {
  contract().section("far ahead");
  const int me = contract().rank, n = contract().ranks;
  constexpr int many = 100;
  if (n < 2) return;
  for (const bool one_way : {false, true}) {
    const Graph graph(MPI_COMM_WORLD, 3800, one_way);
    const auto sources = graph.sources.size();
    std::vector<double> out(2 * many), in(2 * many * sources, -1);
    std::vector<MPI_Request> requests(many);
    for (std::size_t i = 0; i < many; ++i) {
      out[2 * i] = 1000. * double(i) + me;
      check_ok(MPI_Ineighbor_allgather(&out[2 * i], 2, MPI_DOUBLE, in.data() + 2 * i * sources, 2, MPI_DOUBLE,
                                       graph.comm, &requests[i]),
               "far ahead, begin");
      if (me == 0 && one_way) check_ok(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "far ahead, the first rank");
    }
    if (me == 0) check_ok(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE), "far ahead, waitall");
    int token = 0;
    if (me != 0) MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int rank = 1; me == 0 && rank < n; ++rank) MPI_Send(&token, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
    check_ok(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE), "far ahead, waitall");
    for (std::size_t i = 0; i < many; ++i)
      for (std::size_t s = 0; s < sources; ++s)
        check_equal(in[2 * (i * sources + s)], 1000. * double(i) + graph.sources[s], "far ahead, data");
  }
}

/// A call that the MPI refuses is not counted: on all ranks, or on one that calls again.
void refused() {
  contract().section("refused");
  const int me = contract().rank, n = contract().ranks;
  const Graph graph(MPI_COMM_WORLD, 3900);
  const auto sources = graph.sources.size();
  for (int round = 0; round < 4; ++round) {
    const int out[] = {100 * round + me};
    std::vector<int> in(sources, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    if (round % 2 == 0 || me == round % n)
      check(MPI_Ineighbor_allgather(out, -1, MPI_INT, in.data(), 1, MPI_INT, graph.comm, &request) != MPI_SUCCESS,
            "refused");
    check_ok(MPI_Ineighbor_allgather(out, 1, MPI_INT, in.data(), 1, MPI_INT, graph.comm, &request), "after refused");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "after refused, wait");
    for (std::size_t s = 0; s < sources; ++s) check_equal(in[s], 100 * round + graph.sources[s], "after refused, data");
  }
}

/// Many at a time, and a rank that is late.
void many_nonblocking() {
  contract().section("many nonblocking");
  const int me = contract().rank, many = 300;
  for (const bool one_way : {false, true}) {
    const Graph graph(MPI_COMM_WORLD, 3100, one_way);
    const auto sources = graph.sources.size();
    std::vector<int> out(many), in(std::size_t(many) * sources, -1);
    std::vector<MPI_Request> requests(many);
    if (me == contract().ranks - 1) usleep(20000);
    for (int i = 0; i < many; ++i) {
      out[std::size_t(i)] = 1000 * i + me;
      check_ok(MPI_Ineighbor_allgather(&out[std::size_t(i)], 1, MPI_INT, in.data() + std::size_t(i) * sources, 1,
                                       MPI_INT, graph.comm, &requests[std::size_t(i)]),
               "many nonblocking, begin");
    }
    if (me % 2)
      for (auto request = requests.rbegin(); request != requests.rend(); ++request)
        check_ok(MPI_Wait(&*request, MPI_STATUS_IGNORE), "many nonblocking, wait");
    else
      check_ok(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE), "many nonblocking, waitall");
    for (int i = 0; i < many; ++i)
      for (std::size_t s = 0; s < sources; ++s)
        check_equal(in[std::size_t(i) * sources + s], 1000 * i + graph.sources[s], "many nonblocking, data");
  }
}

/// After the call a rank need do no more for its neighbours: it waits in another call until they
/// have their data.
void begun_and_gone() {
  contract().section("begun and gone");
  const int me = contract().rank, n = contract().ranks;
  if (n < 2) return;
  const Graph graph(MPI_COMM_WORLD, 3200);
  for (int round = 0; round < 12; ++round) {
    Exchange exchange(graph, 3301 + unsigned(round));
    exchange.fill(round);
    MPI_Request request;
    check_ok(exchange.begin(&request), "begun and gone, begin");
    int token = 0;
    // Rank 0 is told by the last rank, which has its data by then.
    if (me == 0) MPI_Recv(&token, 1, MPI_INT, n - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "begun and gone");
    if (me == n - 1) MPI_Send(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    exchange.expect(round, "begun and gone, data");
  }
}

/// The communicator is freed while the exchange is under way, and its memory is taken again.
void freed_under_way() {
  contract().section("freed under way");
  for (unsigned round = 0; round < 20; ++round) {
    auto graph = std::make_unique<Graph>(MPI_COMM_WORLD, 3400 + round / 4);
    Exchange exchange(*graph, 3500 + 2 * round);
    exchange.fill(1);
    MPI_Request request;
    check_ok(exchange.begin(&request), "freed under way, begin");
    MPI_Comm_free(&graph->comm);
    const Graph other(MPI_COMM_WORLD, 3600 + round);
    Exchange next(other, 3700 + 2 * round);
    next.fill(2);
    MPI_Request later;
    check_ok(next.begin(&later), "freed under way, another communicator");
    if (contract().rank == int(round) % contract().ranks) usleep(1000);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "freed under way");
    check_ok(MPI_Wait(&later, MPI_STATUS_IGNORE), "freed under way, another communicator");
    exchange.expect(1, "freed under way, data");
    next.expect(2, "freed under way, data of another communicator");
  }
}

/// Most data in one piece are the MPI's, from the first such call of any rank on.
void in_one_piece() {
  contract().section("in one piece");
  const int me = contract().rank, n = contract().ranks, periodic = 0;
  MPI_Comm line;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &line);
  for (const int count : {100, 30000, 100}) {
    std::vector<double> out(std::size_t(2 * count), me), in(std::size_t(2 * count), -1);
    MPI_Request request;
    check_ok(MPI_Ineighbor_alltoall(out.data(), count, MPI_DOUBLE, in.data(), count, MPI_DOUBLE, line, &request),
             "in one piece, begin");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "in one piece");
    check(in[0] == (me > 0 ? me - 1 : -1), "in one piece, from below");
    check(in.back() == (me < n - 1 ? me + 1 : -1), "in one piece, from above");
  }
  MPI_Comm_free(&line);
}

#if MPI_VERSION >= 4
void persistent() {
  contract().section("persistent");
  const Graph graph(MPI_COMM_WORLD, 1500);
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<MPI_Request> requests(5);
  for (unsigned i = 0; i < requests.size(); ++i) {
    exchanges.push_back(std::make_unique<Exchange>(graph, 1600 + i));
    check_ok(exchanges.back()->init(&requests[i]), "persistent, init");
  }
  for (int round = 0; round < 6; ++round) {
    for (auto& exchange : exchanges) exchange->fill(round);
    // Not every MPI's own can be started in another order by each rank.
    const bool backwards = our_neighbours() && (contract().rank + round) % 2;
    for (std::size_t i = 0; i < requests.size(); ++i) MPI_Start(&requests[backwards ? requests.size() - 1 - i : i]);
    if (contract().rank == round % contract().ranks) usleep(1000);
    check_ok(MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "persistent");
    for (auto& exchange : exchanges) exchange->expect(round, "persistent, data");
  }
  for (auto& request : requests) MPI_Request_free(&request);
}

/// After the start a rank need do no more for its neighbours: it waits in another call until they
/// have their data.
void started_and_gone() {
  contract().section("started and gone");
  const int me = contract().rank, n = contract().ranks;
  if (n < 2) return;
  for (const bool one_way : {false, true}) {
    const Graph graph(MPI_COMM_WORLD, 1700, one_way);
    Exchange exchange(graph, 1801);
    MPI_Request request;
    check_ok(exchange.init(&request), "started and gone, init");
    for (int round = 0; round < 6; ++round) {
      exchange.fill(round);
      MPI_Start(&request);
      int token = 0;
      // Rank 0 is told by the last rank, which has its data by then.
      if (me == 0) MPI_Recv(&token, 1, MPI_INT, n - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "started and gone");
      if (me == n - 1) MPI_Send(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      exchange.expect(round, "started and gone, data");
    }
    MPI_Request_free(&request);
  }
}

void persistent_too_long() {
  if (!our_neighbours() || contract().ranks < 2) return;
  contract().section("persistent, too long");
  const Graph graph(MPI_COMM_WORLD, 1900, true);
  const int me = contract().rank;
  for (const int room : {1, 2}) {
    double out[] = {me + 0.5, me + 1.5}, in[] = {-1, -1, -1};
    MPI_Request request;
    MPI_Neighbor_allgather_init(out, 2, MPI_DOUBLE, in, room, MPI_DOUBLE, graph.comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; ++round) {
      MPI_Start(&request);
      const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
      check_class(code, me > 0 && room < 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "persistent, too long");
      if (me > 0 && room == 2) check(in[1] == me + 0.5, "persistent, long enough");
      check(in[room] == -1, "persistent, too long, beyond the place");
    }
    MPI_Request_free(&request);
  }
}
#endif

void threads() {
  if (contract().provided < MPI_THREAD_MULTIPLE) return contract().skip("threads: not provided");
  MPI_Comm comms[3];
  for (auto& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 3; ++t)
    all.emplace_back([&, t] {
      random_graphs(comms[t], 2000 + 100 * t, 4, "threads");
      nonblocking(comms[t], 2300 + 100 * t, 2, "threads, nonblocking");
    });
  for (auto& thread : all) thread.join();
  for (auto& comm : comms) MPI_Comm_free(&comm);
}

/// The last rank dies without a word. The others must end: by an error, or by the launcher.
void killed(bool nonblocking) {
  const Graph graph(MPI_COMM_WORLD, 2500);
  Exchange exchange(graph, 2601);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int round = 0; round < 3; ++round) {
    exchange.fill(round);
    if (round == 2 && contract().rank == contract().ranks - 1) std::raise(SIGKILL);
    int code = nonblocking ? exchange.begin(&request) : exchange.run();
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 7);
  }
}

CONTRACT_PROGRAM(rings) {
  const std::string what = argc > 1 ? argv[1] : "";
  Contract contract("rings", &argc, &argv, what == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  if (what == "threads") {
    threads();
  } else if (what == "killed") {
    killed(argc > 2);
  } else {
    random_graphs(MPI_COMM_WORLD, 1, 12, "random graphs");
    freed_at_once();
    several_communicators();
    other_messages();
    one_way();
    nonblocking(MPI_COMM_WORLD, 3000, 8, "nonblocking");
    many_nonblocking();
    one_at_a_time();
    far_ahead();
    refused();
    begun_and_gone();
    freed_under_way();
    in_one_piece();
#if MPI_VERSION >= 4
    persistent();
    started_and_gone();
    persistent_too_long();
#endif
  }
  return contract.finish();
}

}  // namespace rings_contract
