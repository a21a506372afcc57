// Many exchanges that streams and graphs start, in a ring of ranks that are late by random times.
// Every byte of every exchange is checked.
//
// triggered_soak WAY EXCHANGES [SEED]: WAY is kernels or memory-operations, the way that the
// exchanges must take.
#include <unistd.h>

#include <memory>

#include "triggered.hpp"

namespace triggered_soak_contract {

constexpr int batch = 64, graph_steps = 16, graphs = 2;
constexpr int poison = -7;

/// Random numbers. Ranks draw equal ones from a `together`, and different ones from an `alone`.
struct Random {
  explicit Random(unsigned seed) : generator(seed) {}
  unsigned below(unsigned n) { return static_cast<unsigned>(generator() % n); }
  std::mt19937 generator;
};

/// Work that keeps a stream busy for some microseconds.
class Delay {
 public:
  void put(CUstream stream, Random& alone) const {
    for (auto n = alone.below(4); n > 0; --n)
      cuda(cuMemsetD32Async(at(room_.data()), 0, 1 + alone.below(ints), stream), "cuMemsetD32Async");
  }

 private:
  static constexpr unsigned ints = 256 << 10;
  CudaMemory room_{Kind::device, ints * sizeof(int)};
};

/// A message to the next rank, which comes from the previous one, again and again.
class Link {
 public:
  Link(int kind, int n, int tag)
      : layout_(layout_of(kind, n)),
        ints_(static_cast<std::size_t>(layout_.span)),
        out_(Kind::device, bytes()),
        in_(Kind::device, bytes()),
        log_(Kind::device, bytes() * batch),
        comes_(ints_, false) {
    for (const auto place : layout_.offsets) comes_[static_cast<std::size_t>(place)] = true;
    in_.write(std::vector<int>(ints_, poison).data());
    MPI_Request requests[2];
    MPI_Recv_init(in_.data(), 1, layout_.type, previous(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out_.data(), 1, layout_.type, (me() + 1) % ranks(), tag, MPI_COMM_WORLD, &requests[1]);
    check_ok(DNG_Match(2, requests, &exchange_), "DNG_Match");
  }
  ~Link() {
    for (auto graph : graphs_)
      if (graph) cuda(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
    check_ok(DNG_Exchange_free(&exchange_), "free");
    MPI_Type_free(&layout_.type);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void check_way(int way) const {
    int taken = -1;
    const char* why = nullptr;
    check_ok(DNG_Exchange_query(exchange_, &taken, &why), "DNG_Exchange_query");
    check(taken == way, "the way", why);
  }

  /// An exchange whose data nobody else has. What comes goes to place `step` of the log.
  void put(Stream& stream, int number, int step) {
    cuda(cuMemsetD32Async(at(out_.data()), value(number, me()), ints_, stream.handle), "cuMemsetD32Async");
    check_ok(DNG_Start_enqueue(exchange_, stream.queue), "start");
    check_ok(DNG_Wait_enqueue(exchange_, stream.queue), "wait");
    cuda(cuMemcpyDtoDAsync(at(log_.data()) + static_cast<std::size_t>(step) * bytes(), at(in_.data()), bytes(),
                           stream.handle),
         "cuMemcpyDtoDAsync");
  }
  /// graph_steps exchanges by one of the graphs, numbered from `first(which)` on.
  void replay(Stream& stream, int which) {
    auto& graph = graphs_[which];
    if (!graph) graph = capture(stream, which);
    cuda(cuGraphLaunch(graph, stream.handle), "cuGraphLaunch");
  }
  static int first(int which) { return which * graph_steps; }

  /// The number of wrong integers in the first `steps` places of the log. `number` is that of the
  /// first exchange.
  std::size_t wrong(int number, int steps) const {
    std::vector<int> log(ints_ * static_cast<std::size_t>(steps));
    cuda(cuMemcpyDtoH(log.data(), at(log_.data()), log.size() * sizeof(int)), "cuMemcpyDtoH");
    std::size_t found = 0, i = 0;
    for (int step = 0; step < steps; ++step)
      for (std::size_t k = 0; k < ints_; ++k, ++i)
        found += log[i] != (comes_[k] ? static_cast<int>(value(number + step, previous())) : poison);
    return found;
  }

 private:
  static int me() { return contract().rank; }
  static int ranks() { return contract().ranks; }
  static int previous() { return (me() + ranks() - 1) % ranks(); }
  static unsigned value(int number, int rank) { return static_cast<unsigned>(number * ranks() + rank); }
  std::size_t bytes() const { return ints_ * sizeof(int); }
  CUgraphExec capture(Stream& stream, int which) {
    CUgraph graph{};
    CUgraphExec made{};
    cuda(cuStreamBeginCapture(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    for (int step = 0; step < graph_steps; ++step) put(stream, first(which) + step, step);
    cuda(cuStreamEndCapture(stream.handle, &graph), "cuStreamEndCapture");
    cuda(cuGraphInstantiate(&made, graph, 0), "cuGraphInstantiate");
    cuda(cuGraphDestroy(graph), "cuGraphDestroy");
    return made;
  }

  Layout layout_;
  const std::size_t ints_;
  CudaMemory out_, in_, log_;
  std::vector<bool> comes_;
  DNG_Exchange exchange_ = DNG_EXCHANGE_NULL;
  CUgraphExec graphs_[graphs] = {};
};

CONTRACT_PROGRAM(triggered_soak) {
  const std::string way = argc > 1 ? argv[1] : "kernels";
  const long exchanges = argc > 2 ? std::atol(argv[2]) : 1000;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1;
  Contract c("triggered_soak", &argc, &argv, MPI_THREAD_SINGLE);
  const bool by_kernels = way == "kernels";
  use_own_device();
  Random together(seed), alone(seed + 1000 + static_cast<unsigned>(c.rank));
  {
    Stream stream;
    const Delay delay;
    std::vector<std::unique_ptr<Link>> links;
    // Stamped words, one block, an irregular list, a transpose, and blocks that wait by themselves.
    const std::pair<int, int> shapes[] = {{0, 2}, {1, 2048}, {2, 600}, {3, 1600}, {4, 8000}};
    for (const auto& [kind, n] : shapes)
      links.push_back(std::make_unique<Link>(kind, n, static_cast<int>(links.size())));
    for (const auto& link : links) link->check_way(by_kernels ? DNG_WAY_KERNELS : DNG_WAY_MEMORY_OPERATIONS);
    int number = 1000;  // greater than those of the graphs
    std::size_t wrong = 0;
    for (long done = 0; done < exchanges;) {
      auto& link = *links[together.below(static_cast<unsigned>(links.size()))];
      const auto what = together.below(by_kernels ? graphs + 2 : 1);
      if (alone.below(8) == 0) usleep(alone.below(300));
      if (what < graphs && by_kernels) {
        delay.put(stream.handle, alone);
        link.replay(stream, static_cast<int>(what));
        stream.synchronize();
        wrong += link.wrong(Link::first(static_cast<int>(what)), graph_steps);
        done += graph_steps;
        continue;
      }
      for (int step = 0; step < batch; ++step) {
        if (alone.below(4) == 0) delay.put(stream.handle, alone);
        link.put(stream, number + step, step);
        if (alone.below(64) == 0) stream.synchronize();
      }
      stream.synchronize();
      wrong += link.wrong(number, batch);
      number += batch;
      done += batch;
    }
    check_equal(wrong, std::size_t{0}, "wrong integers");
    std::printf("rank %d: %ld exchanges, %zu wrong integers\n", c.rank, exchanges, wrong);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return c.finish();
}

}  // namespace triggered_soak_contract
