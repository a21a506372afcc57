// Exchanges that streams start and wait for (include/dunnage.h). The program is right whichever way
// an exchange takes, and without Dunnage.
//
// gpu_triggered WAY [dies | late [N]]: WAY is the way that exchanges in device memory must take:
// kernels, memory-operations, mpi, any, auto for kernels or memory operations, whichever is faster,
// proxy for auto with messages to other ranks by a thread of the host, or mixed if that thread does
// messages with some ranks only. WAY may also be `fails`: something fails on a rank. With `dies`,
// the last rank ends in the middle. With `late`, two ranks show what must go on while a stream
// waits, with messages of N integers; CONTRACT_PATIENCE is how many milliseconds rank 0 waits for
// that. CONTRACT_LONG=1 makes it do ten times as many exchanges.
#include <unistd.h>

#include <dlfcn.h>

#include <chrono>
#include <list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "random_type.hpp"
#include "triggered.hpp"

namespace gpu_triggered_contract {

using Clock = std::chrono::steady_clock;

const int times = std::getenv("CONTRACT_LONG") ? 10 : 1;
int expected_way = -1;                                                // -1: any
bool automatic = false;                                               // kernels or memory operations
enum class Proxied { none, with_some, all } proxied = Proxied::none;  // with which ranks the proxy does messages
bool without_host() {
  return automatic || expected_way == DNG_WAY_KERNELS || expected_way == DNG_WAY_MEMORY_OPERATIONS;
}
/// Ranks that share a GPU wait by memory operations.
bool can_be_captured() {
  return (automatic && !std::getenv("CONTRACT_SHARED_DEVICE")) || expected_way == DNG_WAY_KERNELS;
}

void check_way(DNG_Exchange exchange, bool on_device) {
  int way = -1;
  const char* why = nullptr;
  check_ok(DNG_Exchange_query(exchange, &way, &why), "DNG_Exchange_query");
  check(why && *why, "a reason");
  if (expected_way >= 0 && on_device) check(way == expected_way, "the way", std::string(why ? why : ""));
  if (automatic && on_device) check(way != DNG_WAY_MPI, "the way", std::string(why ? why : ""));
  if (!on_device) check(way == DNG_WAY_MPI, "host memory goes by the MPI", std::string(why ? why : ""));
}

/// What must not happen once requests are matched.
unsigned long long costly_calls() {
  static const auto calls =
      reinterpret_cast<unsigned long long (*)(const char*)>(dlsym(RTLD_DEFAULT, "dunnageSimCalls"));
  unsigned long long all = 0;
  if (calls)
    for (const char* name :
         {"cuMemAlloc", "cuMemAllocHost", "cuMemFree", "cuMemFreeHost", "cuModuleLoadData", "cuModuleGetFunction",
          "cuStreamCreate", "cuStreamDestroy", "cuEventCreate", "cuIpcOpenMemHandle", "cuIpcGetMemHandle",
          "cuStreamSynchronize", "cuCtxSynchronize", "cuLaunchHostFunc"})
      all += calls(name);
  return all;
}

/// One message, of which all ranks know everything.
struct Plan {
  int from, to, tag, n, out_kind, in_kind, count, mode;
};

constexpr int poison = -7;

int value_of(const Plan& plan, int round, int i) { return ((plan.tag * 31 + plan.from) * 64 + round) * 4096 + i; }

class End {
 public:
  End(const Plan& plan, bool sends, int rounds, Kind kind)
      : plan_(plan),
        sends_(sends),
        layout_(layout_of(sends ? plan.out_kind : plan.in_kind, plan.n)),
        ints_(static_cast<std::size_t>(layout_.span)),
        memory_(kind, ints_ * sizeof(int)),
        rounds_(ints_ * sizeof(int) * static_cast<std::size_t>(rounds)),
        blank_(ints_ * sizeof(int)) {
    std::fill_n(blank_.ints(), ints_, poison);
    std::fill_n(rounds_.ints(), ints_ * static_cast<std::size_t>(rounds), poison);
    if (sends_)
      for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < plan.n; ++i)
          rounds_.ints()[place(round, layout_.offsets[static_cast<std::size_t>(i)])] = value_of(plan, round, i);
    memory_.write(blank_.data);
  }
  ~End() { MPI_Type_free(&layout_.type); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  MPI_Request request() {
    MPI_Request made = MPI_REQUEST_NULL;
    if (sends_) {
      decltype(&MPI_Send_init) inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Send_init};
      check_ok(inits[plan_.mode](memory_.data(), 1, layout_.type, plan_.to, plan_.tag, MPI_COMM_WORLD, &made), "init");
    } else {
      check_ok(MPI_Recv_init(memory_.data(), 1, layout_.type, plan_.from, plan_.tag, MPI_COMM_WORLD, &made), "init");
    }
    return made;
  }
  /// In the order of the stream: before the start, and right after the wait.
  void before(CUstream stream, int round) {
    if (sends_) copy(stream, at(memory_.data()), at(rounds_.ints() + place(round, 0)));
  }
  void after(CUstream stream, int round) {
    if (!sends_) copy(stream, at(rounds_.ints() + place(round, 0)), at(memory_.data()));
    copy(stream, at(memory_.data()), at(blank_.data));
  }
  void look(int rounds) const {
    if (sends_) return;
    for (int round = 0; round < rounds; ++round) {
      std::vector<int> expected(ints_, poison);
      for (int i = 0; i < plan_.n; ++i)
        expected[static_cast<std::size_t>(layout_.offsets[static_cast<std::size_t>(i)])] = value_of(plan_, round, i);
      check(std::equal(expected.begin(), expected.end(), rounds_.ints() + place(round, 0)), "the bytes",
            "round " + std::to_string(round) + " kinds " + std::to_string(plan_.out_kind) + " " +
                std::to_string(plan_.in_kind) + " n " + std::to_string(plan_.n));
    }
  }

 private:
  std::size_t place(int round, int offset) const {
    return static_cast<std::size_t>(round) * ints_ + static_cast<std::size_t>(offset);
  }
  void copy(CUstream stream, CUdeviceptr to, CUdeviceptr from) const {
    cuda(cuMemcpyAsync(to, from, ints_ * sizeof(int), stream), "cuMemcpyAsync");
  }
  const Plan plan_;
  const bool sends_;
  Layout layout_;
  const std::size_t ints_;
  CudaMemory memory_;
  Pinned rounds_, blank_;
};

/// Random messages between all ranks, several rounds without a wait of the host in between.
void random_exchanges(unsigned seed, Kind out_memory, Kind in_memory) {
  contract().section("random exchanges");
  std::mt19937 random(seed);
  const auto chance = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int ranks = contract().ranks, me = contract().rank, rounds = 12;
  std::vector<Plan> plans;
  for (int i = 1 + chance(3 * ranks); i >= 0; --i) {
    const int sizes[] = {8, 64, 1024, 4096};
    const int from = chance(ranks), to = chance(ranks);
    plans.push_back({from, to, chance(3), sizes[chance(4)], chance(5), chance(5), 1, chance(3)});
  }
  // Messages with one tag are matched in the order of their requests, so they must be of one size.
  for (auto& a : plans)
    for (auto& b : plans)
      if (a.from == b.from && a.to == b.to && a.tag == b.tag) b.n = a.n;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<MPI_Request> requests;
  for (const auto& plan : plans) {
    if (plan.to == me) ends.push_back(std::make_unique<End>(plan, false, rounds, in_memory));
    if (plan.to == me) requests.push_back(ends.back()->request());
    if (plan.from == me) ends.push_back(std::make_unique<End>(plan, true, rounds, out_memory));
    if (plan.from == me) requests.push_back(ends.back()->request());
  }
  {
    Stream stream;
    DNG_Exchange exchange = DNG_EXCHANGE_NULL;
    check_ok(DNG_Match(static_cast<int>(requests.size()), requests.data(), &exchange), "DNG_Match");
    for (const auto request : requests) check(request == MPI_REQUEST_NULL, "the requests are the exchange's");
    const bool on_device = on_gpu(out_memory) && on_gpu(in_memory);
    if (!requests.empty() && on_device) check_way(exchange, true);
    const auto before = costly_calls();
    for (int round = 0; round < rounds; ++round) {
      if (chance(8) == 0 && me == chance(ranks)) usleep(static_cast<unsigned>(chance(2000)));
      for (auto& end : ends) end->before(stream.handle, round);
      check_ok(DNG_Start_enqueue(exchange, stream.queue), "DNG_Start_enqueue");
      check_ok(DNG_Wait_enqueue(exchange, stream.queue), "DNG_Wait_enqueue");
      for (auto& end : ends) end->after(stream.handle, round);
    }
    if (without_host() && on_device) check_equal(costly_calls(), before, "no costly call once requests are matched");
    stream.synchronize();
    for (const auto& end : ends) end->look(rounds);
    check_ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free");
    check(exchange == DNG_EXCHANGE_NULL, "DNG_Exchange_free clears the handle");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A ring of ranks, each with words that go round.
class Ring {
 public:
  static constexpr int ints = 40, bytes = ints * static_cast<int>(sizeof(int));
  Ring() : words(Kind::device, bytes), next(Kind::device, bytes) {
    const int ranks = contract().ranks, me = contract().rank;
    words.write(words_of(me).data());
    MPI_Request requests[2];
    check_ok(MPI_Recv_init(next.data(), ints, MPI_INT, (me + ranks - 1) % ranks, 5, MPI_COMM_WORLD, &requests[0]),
             "init");
    check_ok(MPI_Send_init(words.data(), ints, MPI_INT, (me + 1) % ranks, 5, MPI_COMM_WORLD, &requests[1]), "init");
    check_ok(DNG_Match(2, requests, &exchange), "DNG_Match");
    check_way(exchange, true);
    check_proxy();
  }
  void step() {
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
    pass_on();
  }
  void pass_on() { cuda(cuMemcpyAsync(at(words.data()), at(next.data()), bytes, stream.handle), "cuMemcpyAsync"); }
  void look(int steps, const char* what) {
    stream.synchronize();
    const int ranks = contract().ranks;
    const auto expected = words_of(((contract().rank - steps) % ranks + ranks) % ranks);
    const auto got = words.read();
    check(std::memcmp(got.data(), expected.data(), bytes) == 0, what, std::to_string(steps));
  }
  /// Nothing if the exchange cannot be captured.
  CUgraphExec capture(int steps) {
    CUgraph graph{};
    CUgraphExec made{};
    cuda(cuStreamBeginCapture(stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    const int code = DNG_Start_enqueue(exchange, stream.queue);
    if (expected_way >= 0 || automatic) check_equal(code == MPI_SUCCESS, can_be_captured(), "whether it is captured");
    if (code == MPI_SUCCESS) {
      check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
      pass_on();
      for (int i = 1; i < steps; ++i) step();
    }
    cuda(cuStreamEndCapture(stream.handle, &graph), "cuStreamEndCapture");
    if (code == MPI_SUCCESS) cuda(cuGraphInstantiate(&made, graph, 0), "cuGraphInstantiate");
    cuda(cuGraphDestroy(graph), "cuGraphDestroy");
    if (code == MPI_SUCCESS && proxied == Proxied::none)
      check_equal(way(), DNG_WAY_KERNELS, "kernels wait, once it was captured");
    check_proxy();
    return made;
  }

  int way() const {
    int value = -1;
    check_ok(DNG_Exchange_query(exchange, &value, nullptr), "DNG_Exchange_query");
    return value;
  }
  void check_proxy() const {
    if ((expected_way >= 0 || automatic) && proxied != Proxied::with_some)
      check_equal(way() == DNG_WAY_PROXY, proxied == Proxied::all && contract().ranks > 1,
                  "whether the proxy does the messages");
  }
  CudaMemory words, next;
  Stream stream;
  DNG_Exchange exchange = DNG_EXCHANGE_NULL;

 private:
  static std::vector<int> words_of(int rank) {
    std::vector<int> all(ints);
    for (int i = 0; i < ints; ++i) all[static_cast<std::size_t>(i)] = rank * 1000 + i;
    return all;
  }
};

void many_small_ones(int steps) {
  contract().section("many small ones");
  Ring ring;
  const char* why = nullptr;
  check_ok(DNG_Exchange_query(ring.exchange, nullptr, &why), "DNG_Exchange_query");
  if (expected_way == DNG_WAY_KERNELS && contract().ranks > 1)
    check(std::strstr(why, "stamped words") != nullptr, "short messages go by stamped words", why);
  for (int step = 1; step <= steps; ++step) {
    ring.step();
    if (step % 100 == 0) ring.look(step, "after many steps");
  }
  check_ok(DNG_Exchange_free(&ring.exchange), "free");
}

/// A graph of two steps, launched again and again; then steps without a graph.
void graphs(int launches) {
  contract().section("graphs");
  Ring ring;
  int steps = 0;
  ring.step();
  ring.look(++steps, "before the capture");
  const auto graph = ring.capture(2);
  int captured = graph != nullptr, everywhere = 0;
  MPI_Allreduce(&captured, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  for (int launch = 1; everywhere && launch <= launches; ++launch) {
    cuda(cuGraphLaunch(graph, ring.stream.handle), "cuGraphLaunch");
    steps += 2;
    if (launch % 100 == 0) ring.look(steps, "after launches of a graph");
  }
  ring.look(steps, "after all launches");
  if (graph) cuda(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
  ring.step();
  ring.look(++steps, "a step without the graph");
  check_ok(DNG_Exchange_free(&ring.exchange), "free");
}

/// Each rank captures the exchange at another time, and then mixes launches of the graph with
/// starts by its stream.
void captured_in_the_middle(unsigned seed, int steps) {
  contract().section("captured in the middle");
  Ring ring;
  std::mt19937 random(seed * 64 + static_cast<unsigned>(contract().rank));
  const auto chance = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int capture_at = chance(steps / 2), in_graph = 1 + chance(3);
  CUgraphExec graph{};
  for (int done = 0; done < steps;) {
    if (!graph && done == capture_at) graph = ring.capture(in_graph);
    const bool launch = graph && steps - done >= in_graph && chance(2) == 0;
    if (launch)
      cuda(cuGraphLaunch(graph, ring.stream.handle), "cuGraphLaunch");
    else
      ring.step();
    done += launch ? in_graph : 1;
    if (chance(8) == 0) ring.look(done, "graphs and streams");
  }
  ring.look(steps, "after graphs and streams");
  if (graph) cuda(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
  check_ok(DNG_Exchange_free(&ring.exchange), "free");
}

/// An exchange that was started by the stream is waited for in a graph, with another one before it.
void captured_wait() {
  contract().section("a captured wait");
  const int possible = can_be_captured();
  int everywhere = 0;
  MPI_Allreduce(&possible, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!everywhere) return;
  Ring a;
  CudaMemory out(Kind::device, sizeof(int)), in(Kind::device, sizeof(int));
  const int ranks = contract().ranks, me = contract().rank, left = (me + ranks - 1) % ranks;
  out.write(&me);
  MPI_Request requests[2];
  MPI_Recv_init(in.data(), 1, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out.data(), 1, MPI_INT, (me + 1) % ranks, 6, MPI_COMM_WORLD, &requests[1]);
  DNG_Exchange b = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(2, requests, &b), "DNG_Match");
  CUgraph graph{};
  CUgraphExec made{};
  check_ok(DNG_Start_enqueue(a.exchange, a.stream.queue), "start");
  check_ok(DNG_Start_enqueue(b, a.stream.queue), "start");
  cuda(cuStreamBeginCapture(a.stream.handle, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  check_ok(DNG_Wait_enqueue(b, a.stream.queue), "wait");
  cuda(cuStreamEndCapture(a.stream.handle, &graph), "cuStreamEndCapture");
  int way = -1;
  check_ok(DNG_Exchange_query(a.exchange, &way, nullptr), "DNG_Exchange_query");
  if (proxied == Proxied::none) check_equal(way, DNG_WAY_KERNELS, "a graph moves the data of the exchange before, too");
  cuda(cuGraphInstantiate(&made, graph, 0), "cuGraphInstantiate");
  cuda(cuGraphDestroy(graph), "cuGraphDestroy");
  cuda(cuGraphLaunch(made, a.stream.handle), "cuGraphLaunch");
  check_ok(DNG_Wait_enqueue(a.exchange, a.stream.queue), "wait");
  a.stream.synchronize();
  check(std::memcmp(in.read().data(), &left, sizeof left) == 0, "the message");
  cuda(cuGraphExecDestroy(made), "cuGraphExecDestroy");
  check_ok(DNG_Exchange_free(&a.exchange), "free");
  check_ok(DNG_Exchange_free(&b), "free");
}

/// Many exchanges are enqueued, and the host sleeps.
void host_asleep() {
  if (!without_host()) return;
  contract().section("the host sleeps");
  Ring ring;
  const int steps = 100 * times;
  for (int step = 0; step < steps; ++step) ring.step();
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(100000);
  ring.look(steps, "exchanges without the host");
  check_ok(DNG_Exchange_free(&ring.exchange), "free");
}

/// Two exchanges in one queue, waited for in another order than started.
void two_at_once() {
  contract().section("two at once");
  Ring a;
  const int ranks = contract().ranks, me = contract().rank;
  CudaMemory out(Kind::device, 256), in(Kind::device, 256);
  std::vector<unsigned char> bytes(256, static_cast<unsigned char>(me + 1));
  out.write(bytes.data());
  MPI_Request requests[2];
  MPI_Recv_init(in.data(), 256, MPI_BYTE, (me + 1) % ranks, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out.data(), 256, MPI_BYTE, (me + ranks - 1) % ranks, 6, MPI_COMM_WORLD, &requests[1]);
  DNG_Exchange b = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(2, requests, &b), "DNG_Match");
  for (int round = 0; round < 20; ++round) {
    check_ok(DNG_Start_enqueue(a.exchange, a.stream.queue), "start");
    check_ok(DNG_Start_enqueue(b, a.stream.queue), "start");
    const bool first = (round + me) % 2 == 0;
    check_ok(DNG_Wait_enqueue(first ? a.exchange : b, a.stream.queue), "wait");
    check_ok(DNG_Wait_enqueue(first ? b : a.exchange, a.stream.queue), "wait");
    a.pass_on();
  }
  a.look(20, "both orders");
  check(in.read() == std::vector<unsigned char>(256, static_cast<unsigned char>((me + 1) % ranks + 1)), "the other");
  check_ok(DNG_Exchange_free(&a.exchange), "free");
  check_ok(DNG_Exchange_free(&b), "free");
}

void wrong_use() {
  contract().section("wrong use");
  Ring ring;
  check(DNG_Wait_enqueue(ring.exchange, ring.stream.queue) != MPI_SUCCESS, "a wait without a start");
  check_ok(DNG_Start_enqueue(ring.exchange, ring.stream.queue), "start");
  check(DNG_Start_enqueue(ring.exchange, ring.stream.queue) != MPI_SUCCESS, "two starts");
  check(DNG_Exchange_free(&ring.exchange) != MPI_SUCCESS, "freed while under way");
  check_ok(DNG_Wait_enqueue(ring.exchange, ring.stream.queue), "wait");
  check(DNG_Start_enqueue(DNG_EXCHANGE_NULL, ring.stream.queue) != MPI_SUCCESS, "no exchange");
  check(DNG_Start_enqueue(ring.exchange, DNG_QUEUE_NULL) != MPI_SUCCESS, "no queue");
  check(DNG_Match(-1, nullptr, nullptr) != MPI_SUCCESS, "no requests");
  int code = -1;
  check_ok(DNG_Exchange_error(ring.exchange, &code), "DNG_Exchange_error");
  check_equal(code, MPI_SUCCESS, "no error");
  check_ok(DNG_Exchange_free(&ring.exchange), "free");
  DNG_Exchange none = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(0, nullptr, &none), "an exchange of nothing");
  check_ok(DNG_Start_enqueue(none, ring.stream.queue), "start nothing");
  check_ok(DNG_Wait_enqueue(none, ring.stream.queue), "wait for nothing");
  check_ok(DNG_Exchange_free(&none), "free");
}

unsigned char byte_of(unsigned seed, int rank, std::size_t i) {
  return static_cast<unsigned char>(seed * 7 + static_cast<unsigned>(rank) * 31 +
                                    static_cast<unsigned>(i * 13 + i / 251));
}

/// Round a ring, on a communicator whose ranks are the other way round. Either side has the random
/// type, or plain bytes.
void random_type(unsigned seed, MPI_Comm comm) {
  RandomType random(seed, false, true);
  const int count = random.pick(1, 3), typed = random.pick(1, 3), me = contract().ranks - 1 - contract().rank;
  MPI_Datatype type = random.make(random.pick(1, 4));
  MPI_Type_commit(&type);
  const auto map = typemap(type, count);
  const auto bounds = bounds_of(map);
  const auto room = static_cast<std::size_t>(bounds.end - bounds.begin),
             packed = static_cast<std::size_t>(size_of(map));
  const int left = (me + contract().ranks - 1) % contract().ranks, right = (me + 1) % contract().ranks;
  if (!overlaps(map)) {
    CudaMemory out(Kind::device, std::max(room, packed)), in(Kind::device, std::max(room, packed));
    Bytes mine(out.size()), theirs(out.size()), blank(in.size(), 0xA5);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = byte_of(seed, me, i), theirs[i] = byte_of(seed, left, i);
    out.write(mine.data());
    in.write(blank.data());
    const auto begin = [&](const CudaMemory& memory, bool is_typed) {
      return memory.data() - (is_typed ? bounds.begin : 0);
    };
    const auto init = [&](auto call, const CudaMemory& memory, bool is_typed, int peer, MPI_Request* request) {
      check_ok(call(begin(memory, is_typed), is_typed ? count : static_cast<int>(packed), is_typed ? type : MPI_PACKED,
                    peer, 3, comm, request),
               "init");
    };
    MPI_Request requests[2];
    init(MPI_Recv_init, in, typed & 1, left, &requests[0]);
    init(MPI_Send_init, out, typed & 2, right, &requests[1]);
    Stream stream;
    DNG_Exchange exchange = DNG_EXCHANGE_NULL;
    check_ok(DNG_Match(2, requests, &exchange), "DNG_Match");
    check_way(exchange, true);
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
    stream.synchronize();
    auto bytes = Bytes(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(packed));
    if (typed & 2) bytes = oracle_pack(map, theirs.data() - bounds.begin);
    if (typed & 1)
      oracle_unpack(map, bytes, blank.data() - bounds.begin);
    else
      std::copy(bytes.begin(), bytes.end(), blank.begin());
    check(in.read() == blank, "the bytes of a random type", std::to_string(seed));
    check_ok(DNG_Exchange_free(&exchange), "free");
  }
  MPI_Type_free(&type);
}
void random_types(unsigned first, unsigned cases) {
  if (!without_host()) return;  // an MPI may get some types wrong
  contract().section("random types");
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -contract().rank, &reversed);
  for (unsigned i = 0; i < cases; ++i) random_type(first + i, reversed);
  MPI_Comm_free(&reversed);
}

/// A message of an irregular layout to the other one of two ranks, and one from there.
class Pair {
 public:
  Pair(int kind, int tag, int n = 4096)
      : n_(n), layout_(layout_of(kind, n)), out_(Kind::device, bytes()), in_(Kind::device, bytes()) {
    std::vector<int> data(static_cast<std::size_t>(layout_.span), poison);
    in_.write(data.data());
    for (int i = 0; i < n; ++i) data[static_cast<std::size_t>(layout_.offsets[static_cast<std::size_t>(i)])] = i + me();
    out_.write(data.data());
    MPI_Request requests[2];
    MPI_Recv_init(in_.data(), 1, layout_.type, 1 - me(), tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out_.data(), 1, layout_.type, 1 - me(), tag, MPI_COMM_WORLD, &requests[1]);
    check_ok(DNG_Match(2, requests, &exchange_), "DNG_Match");
    check_way(exchange_, true);
    const char* why = nullptr;
    check_ok(DNG_Exchange_query(exchange_, nullptr, &why), "DNG_Exchange_query");
    check(std::strstr(why, "stamped words") == nullptr, "long messages do not", why);
  }
  ~Pair() {
    check_ok(DNG_Exchange_free(&exchange_), "free");
    MPI_Type_free(&layout_.type);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  void put(Stream& stream) {
    check_ok(DNG_Start_enqueue(exchange_, stream.queue), "start");
    check_ok(DNG_Wait_enqueue(exchange_, stream.queue), "wait");
  }
  void look() {
    const auto got = in_.read();
    for (int i = 0; i < n_; ++i) {
      const int expected = i + 1 - me();
      const auto place = static_cast<std::size_t>(layout_.offsets[static_cast<std::size_t>(i)]) * sizeof(int);
      check(std::memcmp(got.data() + place, &expected, sizeof expected) == 0, "the bytes of a pair", std::to_string(i));
    }
  }

 private:
  const int n_;
  static int me() { return contract().rank; }
  std::size_t bytes() const { return static_cast<std::size_t>(layout_.span) * sizeof(int); }
  Layout layout_;
  CudaMemory out_, in_;
  DNG_Exchange exchange_ = DNG_EXCHANGE_NULL;
};

/// Exchanges of one message each, in one queue.
class Letters {
 public:
  ~Letters() {
    for (auto& one : all_) {
      if (me() == one.to) check(one.memory.read() == Bytes(bytes, pattern(one.from, one.tag)), "a letter");
      check_ok(DNG_Exchange_free(&one.exchange), "free");
    }
  }
  /// A message between two ranks. Returns its number.
  int make(int from, int to, int tag) {
    numbers_.push_back(-1);
    if (me() != from && me() != to) return static_cast<int>(numbers_.size()) - 1;
    numbers_.back() = static_cast<int>(all_.size());
    auto& one = all_.emplace_back(from, to, tag);
    one.memory.write(Bytes(bytes, me() == from ? pattern(from, tag) : 0).data());
    MPI_Request request;
    if (me() == from) MPI_Send_init(one.memory.data(), bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    if (me() == to) MPI_Recv_init(one.memory.data(), bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
    check_ok(DNG_Match(1, &request, &one.exchange), "DNG_Match");
    return static_cast<int>(numbers_.size()) - 1;
  }
  void start(int letter) { check_ok(DNG_Start_enqueue(of(letter), stream.queue), "start"); }
  void wait(int letter) { check_ok(DNG_Wait_enqueue(of(letter), stream.queue), "wait"); }
  void both(int letter) { start(letter), wait(letter); }

  Stream stream;

 private:
  struct Letter {
    Letter(int from_rank, int to_rank, int its_tag)
        : from(from_rank), to(to_rank), tag(its_tag), memory(Kind::device, bytes) {}
    int from, to, tag;
    CudaMemory memory;
    DNG_Exchange exchange = DNG_EXCHANGE_NULL;
  };
  static constexpr int bytes = 1 << 20;
  static int me() { return contract().rank; }
  static unsigned char pattern(int from, int tag) { return static_cast<unsigned char>(16 * tag + from + 1); }
  DNG_Exchange of(int letter) const {
    return std::next(all_.begin(), numbers_[static_cast<std::size_t>(letter)])->exchange;
  }
  std::list<Letter> all_;
  std::vector<int> numbers_;
};

/// A wait for one exchange needs no end of an exchange before it that only sends.
void sends_wait_for_nobody_else() {
  if (!without_host() || contract().ranks < 3) return;
  contract().section("sends wait for nobody else");
  {
    Letters letters;
    const int x = letters.make(0, 1, 1), y = letters.make(2, 0, 2), w = letters.make(0, 2, 3),
              v = letters.make(2, 1, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    if (contract().rank == 0) {
      letters.start(x);
      letters.both(y);
      letters.both(w);
      letters.wait(x);
    }
    if (contract().rank == 1) letters.both(v), letters.both(x);
    if (contract().rank == 2) letters.both(y), letters.both(w), letters.both(v);
    letters.stream.synchronize();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// A rank receives from one rank, and sends to another one that comes when the first has gone on.
void receives_wait_for_no_send() {
  if (!without_host() || contract().ranks < 3) return;
  contract().section("receives wait for no send");
  const int me = contract().rank, bytes = 1 << 20;
  if (me < 3) {
    Stream stream;
    CudaMemory a(Kind::device, bytes), b(Kind::device, bytes);
    MPI_Request requests[2];
    DNG_Exchange x = DNG_EXCHANGE_NULL, v = DNG_EXCHANGE_NULL;
    const auto match = [](int count, MPI_Request* all, DNG_Exchange* exchange) {
      check_ok(DNG_Match(count, all, exchange), "DNG_Match");
    };
    if (me == 0) {
      MPI_Recv_init(a.data(), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Send_init(b.data(), bytes, MPI_BYTE, 2, 1, MPI_COMM_WORLD, &requests[1]);
      match(2, requests, &x);
    } else {
      if (me == 1) MPI_Send_init(a.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, requests);
      if (me == 2) MPI_Recv_init(a.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, requests);
      match(1, requests, &x);
      if (me == 1) MPI_Send_init(b.data(), bytes, MPI_BYTE, 2, 2, MPI_COMM_WORLD, requests);
      if (me == 2) MPI_Recv_init(b.data(), bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, requests);
      match(1, requests, &v);
    }
    const auto both = [&](DNG_Exchange exchange) {
      check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
      check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
    };
    if (me == 2) both(v);
    both(x);
    if (me == 1) both(v);
    stream.synchronize();
    check_ok(DNG_Exchange_free(&x), "free");
    if (me > 0) check_ok(DNG_Exchange_free(&v), "free");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Messages with one tag are matched in the order of their requests, whatever is in them.
void one_tag() {
  contract().section("one tag");
  const int ranks = contract().ranks, me = contract().rank, n = 200;
  CudaMemory out(Kind::device, n), in(Kind::device, n);
  out.write(Bytes(n, static_cast<unsigned char>(me + 1)).data());
  MPI_Request requests[4];
  for (const int i : {0, 1}) {
    MPI_Recv_init(in.data(), i * n, MPI_BYTE, (me + 1) % ranks, 7, MPI_COMM_WORLD, &requests[i]);
    MPI_Send_init(out.data(), i * n, MPI_BYTE, (me + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &requests[2 + i]);
  }
  Stream stream;
  DNG_Exchange exchange = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(4, requests, &exchange), "DNG_Match");
  check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
  check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
  stream.synchronize();
  check(in.read() == Bytes(n, static_cast<unsigned char>((me + 1) % ranks + 1)), "the message behind an empty one");
  check_ok(DNG_Exchange_free(&exchange), "free");
}

/// Another GPU reads packed copies of such data, which each start packs. Only the two messages
/// together are much.
void much_data_in_short_blocks() {
  if (!without_host() || contract().ranks < 2) return;
  contract().section("much data in short blocks");
  const int ranks = contract().ranks, me = contract().rank, n = 300000, stride = 4;
  std::vector<double> data(static_cast<std::size_t>(n) * stride, -1);
  CudaMemory out(Kind::device, data.size() * sizeof(double)), in(Kind::device, data.size() * sizeof(double));
  in.write(data.data());
  MPI_Datatype column;
  MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Request requests[4];
  for (const int i : {0, 1}) {
    MPI_Recv_init(reinterpret_cast<double*>(in.data()) + i, 1, column, (me + 1) % ranks, i, MPI_COMM_WORLD,
                  &requests[i]);
    MPI_Send_init(reinterpret_cast<double*>(out.data()) + i, 1, column, (me + ranks - 1) % ranks, i, MPI_COMM_WORLD,
                  &requests[2 + i]);
  }
  MPI_Type_free(&column);  // the requests keep what they need
  Stream stream;
  DNG_Exchange exchange = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(4, requests, &exchange), "DNG_Match");
  const char* why = "";
  check_ok(DNG_Exchange_query(exchange, nullptr, &why), "DNG_Exchange_query");
  const int count = devices().count;
  const bool far = !std::getenv("CONTRACT_SHARED_DEVICE") && me % count != (me + ranks - 1) % ranks % count;
  if (proxied == Proxied::none) check((std::strstr(why, "packed") != nullptr) == far, "who reads a packed copy", why);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i) + me + 10 * round;
    out.write(data.data());
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
    stream.synchronize();
    std::vector<double> got(data.size());
    std::memcpy(got.data(), in.read().data(), got.size() * sizeof(double));
    for (std::size_t i = 0; i < got.size(); ++i)
      data[i] = i % stride > 1 ? -1 : static_cast<double>(i) + (me + 1) % ranks + 10 * round;
    check(got == data, "the bytes of short blocks", std::to_string(round));
    std::fill(data.begin(), data.end(), -1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check_ok(DNG_Exchange_free(&exchange), "free");
}

/// A synchronous send is complete when the receiver has begun, however few bytes it has.
void synchronous_send() {
  if (!without_host() || contract().ranks < 2) return;
  contract().section("a synchronous send");
  const int me = contract().rank;
  CudaMemory word(Kind::device, sizeof(int));
  word.write(&me);
  MPI_Request request;
  if (me == 0) MPI_Ssend_init(word.data(), 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
  if (me == 1) MPI_Recv_init(word.data(), 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
  if (me < 2) {
    Stream stream;
    DNG_Exchange exchange = DNG_EXCHANGE_NULL;
    check_ok(DNG_Match(1, &request, &exchange), "DNG_Match");
    if (me == 1) MPI_Recv(nullptr, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
    if (me == 0) {
      usleep(20000);
      check_equal(cuStreamQuery(stream.handle), CUDA_ERROR_NOT_READY, "a synchronous send waits for the receiver");
      MPI_Send(nullptr, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
    }
    stream.synchronize();
    check(std::memcmp(word.read().data(), "\0\0\0\0", sizeof(int)) == 0, "the word of a synchronous send");
    check_ok(DNG_Exchange_free(&exchange), "free");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// What fails on one rank ends the exchange on all.
void something_fails() {
  const int ranks = contract().ranks, me = contract().rank, n = 40;
  Stream stream;
  CudaMemory out(Kind::device, n), in(Kind::device, n);
  out.write(Bytes(n, static_cast<unsigned char>(me + 1)).data());
  MPI_Request requests[2];
  MPI_Recv_init(in.data(), n, MPI_BYTE, (me + 1) % ranks, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out.data(), n, MPI_BYTE, (me + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &requests[1]);
  DNG_Exchange exchange = DNG_EXCHANGE_NULL;
  int code = DNG_Match(2, requests, &exchange);
  for (int step = 0; step < 20 && code == MPI_SUCCESS; ++step) {
    code = DNG_Start_enqueue(exchange, stream.queue);
    if (code == MPI_SUCCESS) code = DNG_Wait_enqueue(exchange, stream.queue);
  }
  stream.synchronize();
  if (code == MPI_SUCCESS) DNG_Exchange_error(exchange, &code);
  int failed = code != MPI_SUCCESS, all = 0;
  MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(all == 0 || all == ranks, "an error on one rank is one on all", std::to_string(all));
  if (all == 0) check(in.read() == Bytes(n, static_cast<unsigned char>((me + 1) % ranks + 1)), "the bytes");
  if (exchange) DNG_Exchange_free(&exchange);
}

/// Rank 1 comes late. The stream of rank 0 waits, and its host and its other stream go on.
int somebody_is_late(int n) {
  Stream one, two;
  Pair late(4, 1, n), behind(3, 2, n), beside(2, 3, n), again(1, 4, n);
  if (contract().rank == 1) {
    beside.put(two);
    two.synchronize();
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    late.put(one);
    behind.put(one);
  } else {
    late.put(one);
    usleep(50000);
    behind.put(one);  // kernels that were never launched, while a kernel waits
    beside.put(two);
    two.must_end();
    check(cuStreamQuery(one.handle) == CUDA_ERROR_NOT_READY, "the first stream waits");
    MPI_Send(nullptr, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
  }
  again.put(two);
  one.synchronize();
  two.synchronize();
  for (auto* pair : {&late, &behind, &beside, &again}) pair->look();
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}

/// The last rank ends. The others' streams go on, and the next call tells.
int somebody_dies() {
  Ring ring;
  for (int step = 0; step < 10; ++step) ring.step();
  ring.look(10, "before");
  const bool last = contract().rank == contract().ranks - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (last) _exit(0);
  const auto begin = Clock::now();
  ring.step();
  cuStreamSynchronize(ring.stream.handle);
  const auto spent = std::chrono::duration<double>(Clock::now() - begin).count();
  check(spent < 10, "the stream is released in time", std::to_string(spent));
  int code = MPI_SUCCESS;
  for (int look = 0; look < 100 && code == MPI_SUCCESS; ++look) {
    usleep(20000);
    DNG_Exchange_error(ring.exchange, &code);
  }
  check(code != MPI_SUCCESS, "an error tells of it");
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  check(std::strstr(text, "rank") != nullptr, "it names the rank", text);
  check(DNG_Start_enqueue(ring.exchange, ring.stream.queue) != MPI_SUCCESS, "the exchange stays broken");
  check(DNG_Start_enqueue(ring.exchange, ring.stream.queue) != MPI_SUCCESS, "and does so");
  DNG_Exchange_free(&ring.exchange);
  std::printf("survived %d\n", contract().rank);
  std::fflush(stdout);
  _exit(0);
}

CONTRACT_PROGRAM(gpu_triggered) {
  const std::string way = argc > 1 ? argv[1] : "any";
  proxied = way == "proxy" ? Proxied::all : way == "mixed" || way == "fails" ? Proxied::with_some : Proxied::none;
  const bool by_threads = proxied != Proxied::none;
  Contract c("gpu_triggered", &argc, &argv, by_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  expected_way = way == "kernels"             ? DNG_WAY_KERNELS
                 : way == "memory-operations" ? DNG_WAY_MEMORY_OPERATIONS
                 : way == "mpi"               ? DNG_WAY_MPI
                                              : -1;
  automatic = way == "auto" || way == "proxy" || way == "mixed";
  if (!std::getenv("CONTRACT_SHARED_DEVICE")) use_own_device();
  check_equal(DNG_api_version(), DNG_API_VERSION, "the version");
  if (argc > 2 && std::string(argv[2]) == "dies") return somebody_dies();
  if (argc > 2 && std::string(argv[2]) == "late") {
    somebody_is_late(argc > 3 ? std::atoi(argv[3]) : 4096);
    return c.finish();
  }
  if (way == "fails") {
    something_fails();
    return c.finish();
  }
  const char* seed = std::getenv("CONTRACT_SEED");
  const unsigned first = seed ? static_cast<unsigned>(std::atoi(seed)) : 1;
  for (unsigned i = 0; i < 4 * static_cast<unsigned>(times); ++i)
    random_exchanges(first + i, Kind::device, Kind::device);
  random_exchanges(first + 100, Kind::pool, Kind::device);
  random_exchanges(first + 101, Kind::device, Kind::pool);
  random_exchanges(first + 102, Kind::host, Kind::device);
  random_types(first + 200, 10 * static_cast<unsigned>(times));
  many_small_ones(200 * times);
  two_at_once();
  host_asleep();
  synchronous_send();
  sends_wait_for_nobody_else();
  receives_wait_for_no_send();
  one_tag();
  much_data_in_short_blocks();
  graphs(200 * times);
  for (unsigned i = 0; i < 3 * static_cast<unsigned>(times); ++i) captured_in_the_middle(first + 300 + i, 60);
  captured_wait();
  wrong_use();
  return c.finish();
}

}  // namespace gpu_triggered_contract
