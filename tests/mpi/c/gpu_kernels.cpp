// Kernels that start exchanges, send partitions and wait by themselves
// (include/dunnage_device.cuh), and streams that send partitions. The program is right whichever
// way an exchange takes, and without Dunnage.
//
// gpu_kernels WAY [dies|fenced|unfenced]: WAY is the way that exchanges in device memory must take:
// kernels, memory-operations, mpi, or auto for kernels or memory operations, whichever is faster.
// With `dies`, the last rank ends in the middle. With `fenced` and `unfenced`, blocks of one grid
// wait for each other, and nothing else happens.
#include <dlfcn.h>

#include <memory>

#include "partitioned_calls.hpp"
#include "sim/device_code.hpp"
#include "triggered.hpp"

// CUDA's words, for the host.
#define __global__
#define __device__
#include "../kernels/kernels.cu"
#undef __device__
#undef __global__

/// kernels.cu as nvcc compiled it.
extern "C" const char triggered_kernels_image[];

namespace gpu_kernels_contract {

using triggered_kernels::Plan;
using triggered_kernels::Region;

template <auto kernel, class What = Plan>
void run_on_host(const dunnageSimLaunch* launch) {
  const auto& plan = *static_cast<const What*>(launch->params[0]);
  dng_host::run_grid(*launch, [&] { kernel(plan); });
}

/// The simulated device stands in for the driver, if it is there.
template <class F>
F of_simulator(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

struct Kernels {
  Kernels() {
    const auto enter = of_simulator<decltype(&dunnageSimRegisterKernel)>("dunnageSimRegisterKernel");
    dng_host::translate = of_simulator<decltype(&dunnageSimTranslate)>("dunnageSimTranslate");
    if (enter) {
      static const std::size_t size = sizeof(Plan), size_of_turns = sizeof(triggered_kernels::Turns);
      enter("exchange_rounds", run_on_host<exchange_rounds>, &size, 1);
      enter("send_partitions", run_on_host<send_partitions>, &size, 1);
      enter("wait_in_blocks", run_on_host<wait_in_blocks>, &size, 1);
      enter("take_turns", run_on_host<take_turns, triggered_kernels::Turns>, &size_of_turns, 1);
      static const std::size_t size_of_hand_over = sizeof(triggered_kernels::HandOver);
      enter("hand_over", run_on_host<hand_over, triggered_kernels::HandOver>, &size_of_hand_over, 1);
    }
    cuda(cuModuleLoadData(&module, triggered_kernels_image), "cuModuleLoadData");
    cuda(cuModuleGetFunction(&rounds, module, "exchange_rounds"), "cuModuleGetFunction");
    cuda(cuModuleGetFunction(&partitions, module, "send_partitions"), "cuModuleGetFunction");
    cuda(cuModuleGetFunction(&blocks, module, "wait_in_blocks"), "cuModuleGetFunction");
    cuda(cuModuleGetFunction(&turns, module, "take_turns"), "cuModuleGetFunction");
    cuda(cuModuleGetFunction(&hand, module, "hand_over"), "cuModuleGetFunction");
  }
  template <class What>
  void launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream, What plan) const {
    void* parameters[] = {&plan};
    cuda(cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
  }
  CUmodule module{};
  CUfunction rounds{}, partitions{}, blocks{}, turns{}, hand{};
};

/// One side of a message.
struct Side {
  int kind, n, partitions;  // ints of an element
};
/// One message, of which all ranks know everything.
struct Message {
  int from, to, tag, ints, comm;
  Side out, in;
};
int value_of(const Message& m, int round, int i) { return ((m.tag * 31 + m.from) * 64 + round) * 8192 + i; }

/// MPI_COMM_WORLD, a duplicate, and its ranks the other way round.
struct Communicators {
  Communicators() {
    all[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &all[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -contract().rank, &all[2]);
  }
  ~Communicators() {
    MPI_Comm_free(&all[1]);
    MPI_Comm_free(&all[2]);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  static int rank(int comm, int of_world) { return comm == 2 ? contract().ranks - 1 - of_world : of_world; }
  MPI_Comm all[3];
};

class End {
 public:
  End(const Message& message, bool sends, int rounds)
      : message_(message),
        side_(sends ? message.out : message.in),
        sends_(sends),
        layout_(layout_of(side_.kind, side_.n)),
        count_(message.ints / side_.n / side_.partitions) {
    MPI_Aint low = 0, extent = 0;
    MPI_Type_get_extent(layout_.type, &low, &extent);
    low_ = low / static_cast<MPI_Aint>(sizeof(int));
    extent_ = extent / static_cast<MPI_Aint>(sizeof(int));
    span_ = static_cast<std::size_t>(low_ + extent_ * (message.ints / side_.n));
    host_.assign(span_ * static_cast<std::size_t>(rounds), triggered_kernels::poison);
    for (int round = 0; sends && round < rounds; ++round)
      for (int i = 0; i < message.ints; ++i) host_[place(round, i)] = value_of(message, round, i);
    buffer_ = std::make_unique<CudaMemory>(Kind::device, span_ * sizeof(int));
    rounds_ = std::make_unique<CudaMemory>(Kind::device, host_.size() * sizeof(int));
    rounds_->write(host_.data());
    const std::vector<int> blank(span_, triggered_kernels::poison);
    buffer_->write(blank.data());
  }
  ~End() { MPI_Type_free(&layout_.type); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  bool sends() const { return sends_; }
  int partitions() const { return side_.partitions; }
  MPI_Request request(const Communicators& comms) const {
    MPI_Request made = MPI_REQUEST_NULL;
    const auto comm = comms.all[message_.comm];
    if (sends_)
      check_ok(
          MPI_Psend_init(buffer_->data(), side_.partitions, count_, layout_.type,
                         Communicators::rank(message_.comm, message_.to), message_.tag, comm, MPI_INFO_NULL, &made),
          "MPI_Psend_init");
    else
      check_ok(
          MPI_Precv_init(buffer_->data(), side_.partitions, count_, layout_.type,
                         Communicators::rank(message_.comm, message_.from), message_.tag, comm, MPI_INFO_NULL, &made),
          "MPI_Precv_init");
    return made;
  }
  Region region(int request, int partition) const {
    const auto length = static_cast<long long>(extent_) * count_;
    return {request,
            partition,
            low_ + partition * length,
            length,
            static_cast<long long>(span_),
            reinterpret_cast<int*>(buffer_->data()),
            reinterpret_cast<int*>(rounds_->data())};
  }
  /// In the order of the stream: the whole buffer before the start, and right after the wait.
  void before(CUstream stream, int round) const {
    if (sends_) copy(stream, at(buffer_->data()), at(rounds_->data()) + bytes(round));
  }
  void after(CUstream stream, int round) const {
    if (!sends_) copy(stream, at(rounds_->data()) + bytes(round), at(buffer_->data()));
  }
  /// All that has arrived was used.
  void look_for_poison() const {
    if (sends_) return;
    const std::vector<int> blank(span_, triggered_kernels::poison);
    check(std::memcmp(buffer_->read().data(), blank.data(), bytes(1)) == 0, "nobody writes what was received again");
  }
  void look(int rounds, const char* what) {
    if (sends_) return;
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < message_.ints; ++i) host_[place(round, i)] = value_of(message_, round, i);
    const auto got = rounds_->read();
    check(std::memcmp(got.data(), host_.data(), bytes(rounds)) == 0, what,
          "kinds " + std::to_string(message_.out.kind) + " " + std::to_string(message_.in.kind) + " ints " +
              std::to_string(message_.ints) + " partitions " + std::to_string(message_.out.partitions) + " " +
              std::to_string(message_.in.partitions));
  }

 private:
  std::size_t bytes(int round) const { return static_cast<std::size_t>(round) * span_ * sizeof(int); }
  /// The place of int i of the message.
  std::size_t place(int round, int i) const {
    return static_cast<std::size_t>(round) * span_ + static_cast<std::size_t>(i / side_.n * extent_) +
           static_cast<std::size_t>(layout_.offsets[static_cast<std::size_t>(i % side_.n)]);
  }
  void copy(CUstream stream, CUdeviceptr to, CUdeviceptr from) const {
    cuda(cuMemcpyAsync(to, from, span_ * sizeof(int), stream), "cuMemcpyAsync");
  }

  const Message message_;
  const Side side_;
  const bool sends_;
  Layout layout_;
  const int count_;
  MPI_Aint low_ = 0, extent_ = 0;
  std::size_t span_ = 0;
  std::vector<int> host_;
  std::unique_ptr<CudaMemory> buffer_, rounds_;
};

int expected_way = -1;
bool automatic = false;
bool kernels_may_send() { return automatic || expected_way == DNG_WAY_KERNELS; }

/// Random partitioned messages between all ranks. `regular`: of layouts that are nests of loops.
class Exchange {
 public:
  Exchange(unsigned seed, bool regular, int rounds, const Communicators& comms) : random_(seed), rounds_(rounds) {
    const int ranks = contract().ranks, me = contract().rank;
    std::vector<Message> messages;
    for (int i = 1 + chance(2 * ranks); i >= 0; --i) messages.push_back(message(regular));
    // Messages with one tag match in the order of their requests, so all such have one size.
    for (auto& a : messages)
      for (auto& b : messages)
        if (a.from == b.from && a.to == b.to && a.tag == b.tag) b = a;
    for (const auto& m : messages) {
      if (m.to == me) ends.push_back(std::make_unique<End>(m, false, rounds));
      if (m.from == me) ends.push_back(std::make_unique<End>(m, true, rounds));
    }
    for (const auto& end : ends) requests_.push_back(end->request(comms));
    if (ends.empty()) requests_.push_back(nobody(comms));
    check_ok(DNG_Match(static_cast<int>(requests_.size()), requests_.data(), &handle), "DNG_Match");
    for (int i = 0; i < static_cast<int>(ends.size()); ++i)
      for (int p = 0; p < ends[static_cast<std::size_t>(i)]->partitions(); ++p) {
        const auto& end = *ends[static_cast<std::size_t>(i)];
        (end.sends() ? sends : receives).push_back(end.region(i, p));
      }
    std::shuffle(sends.begin(), sends.end(), random_);
    send_ = on_device(sends);
    receive_ = on_device(receives);
    const int none = 0;
    broken_.write(&none);
    int way = -1;
    const char* why = "";
    check_ok(DNG_Exchange_query(handle, &way, &why), "DNG_Exchange_query");
    if (!regular || ends.empty()) return;
    automatic ? check(way != DNG_WAY_MPI, why) : check_equal(way, expected_way, why);
  }
  ~Exchange() {
    check_ok(DNG_Exchange_free(&handle), "DNG_Exchange_free");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int chance(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Plan plan(DNG_Device device, int scope, int first_round) const {
    return {device,
            scope,
            rounds_,
            first_round,
            static_cast<int>(sends.size()),
            static_cast<int>(receives.size()),
            reinterpret_cast<const Region*>(send_->data()),
            reinterpret_cast<const Region*>(receive_->data()),
            reinterpret_cast<int*>(broken_.data())};
  }
  void look(const char* what) {
    for (const auto& end : ends) end->look(rounds_, what);
    check_equal(broken(), 0, "no call says that the exchange is broken");
  }
  int broken() const {
    int value = -1;
    std::memcpy(&value, broken_.read().data(), sizeof value);
    return value;
  }

  std::vector<std::unique_ptr<End>> ends;
  std::vector<Region> sends, receives;
  DNG_Exchange handle = DNG_EXCHANGE_NULL;

 private:
  Message message(bool regular) {
    const int ranks = contract().ranks;
    const int elements[] = {2, 4, 16, 64, 512}, cuts[] = {1, 2, 3, 4, 6, 12};
    const int regulars[] = {0, 1, 3};
    const int n = elements[chance(5)];
    const auto side = [&] {
      const int kind = n < 16 ? 0 : regular ? regulars[chance(3)] : chance(5);
      return Side{kind, n >> chance(2), cuts[chance(6)]};
    };
    const int from = chance(ranks), to = chance(ranks), tag = chance(3), comm = chance(3);
    const auto out = side(), in = side();
    return {from, to, tag, 12 * n, comm, out, in};
  }
  /// A request without a partner: what a rank at the edge of a domain has.
  static MPI_Request nobody(const Communicators& comms) {
    MPI_Request made = MPI_REQUEST_NULL;
    check_ok(MPI_Psend_init(nullptr, 1, 0, MPI_INT, MPI_PROC_NULL, 0, comms.all[0], MPI_INFO_NULL, &made), "to nobody");
    return made;
  }
  static std::unique_ptr<CudaMemory> on_device(const std::vector<Region>& regions) {
    auto memory = std::make_unique<CudaMemory>(Kind::device, (regions.size() + 1) * sizeof(Region));
    auto bytes = memory->read();
    if (!regions.empty()) std::memcpy(bytes.data(), regions.data(), regions.size() * sizeof(Region));
    memory->write(bytes.data());
    return memory;
  }

  std::mt19937 random_;
  const int rounds_;
  std::vector<MPI_Request> requests_;
  std::unique_ptr<CudaMemory> send_, receive_;
  CudaMemory broken_{Kind::device, sizeof(int)};
};

/// Whole exchanges by one block of each rank, or one warp, or one thread.
void by_kernels(unsigned seed, int scope, int rounds, const Kernels& kernels, const Communicators& comms) {
  contract().section("by kernels");
  Stream stream;
  Exchange exchange(seed, true, rounds, comms);
  DNG_Device device = DNG_DEVICE_NULL;
  check_ok(DNG_Exchange_device(exchange.handle, &device), "DNG_Exchange_device");
  constexpr unsigned threads[] = {1, 32, 6};
  for (int launch = 0; launch < 2; ++launch) {
    kernels.launch(kernels.rounds, 1, threads[scope], stream.handle, exchange.plan(device, scope, 0));
    stream.synchronize();
    exchange.look("the bytes, by kernels");
  }
}

/// Two exchanges on a ring.
void by_turns(int scope, int ints, int rounds, const Kernels& kernels) {
  contract().section("two exchanges by turns");
  const int ranks = contract().ranks, me = contract().rank, left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
  const auto bytes = static_cast<std::size_t>(ints) * sizeof(int);
  std::vector<std::unique_ptr<CudaMemory>> out, in;
  CudaMemory broken(Kind::device, sizeof(int));
  triggered_kernels::Turns t{{}, scope, rounds, ints, left, {}, {}, reinterpret_cast<int*>(broken.data()), me};
  DNG_Exchange exchanges[2];
  Stream stream;
  for (int turn = 0; turn < 2; ++turn) {
    t.out[turn] = reinterpret_cast<int*>(out.emplace_back(std::make_unique<CudaMemory>(Kind::device, bytes))->data());
    t.in[turn] = reinterpret_cast<int*>(in.emplace_back(std::make_unique<CudaMemory>(Kind::device, bytes))->data());
    MPI_Request requests[2];
    MPI_Precv_init(t.in[turn], 1, ints, MPI_INT, left, turn, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(t.out[turn], 1, ints, MPI_INT, right, turn, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    check_ok(DNG_Match(2, requests, &exchanges[turn]), "DNG_Match");
    check_ok(DNG_Exchange_device(exchanges[turn], &t.exchange[turn]), "DNG_Exchange_device");
  }
  constexpr unsigned threads[] = {1, 32, 40};
  for (int launch = 0; launch < 2; ++launch) {
    const int unknown = -1;
    broken.write(&unknown);
    kernels.launch(kernels.turns, 1, threads[scope], stream.handle, t);
    stream.synchronize();
    int wrong = -1;
    std::memcpy(&wrong, broken.read().data(), sizeof wrong);
    check_equal(wrong, 0, "the values of exchanges that take turns");
  }
  for (auto& exchange : exchanges) check_ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The stream starts and waits, and blocks of a kernel send partitions as they compute them.
void started_by_the_stream(unsigned seed, const Kernels& kernels, const Communicators& comms) {
  contract().section("started by the stream");
  constexpr int rounds = 12;
  Stream stream;
  Exchange exchange(seed, true, rounds, comms);
  DNG_Device device = DNG_DEVICE_NULL;
  check_ok(DNG_Exchange_device(exchange.handle, &device), "DNG_Exchange_device");
  for (int round = 0; round < rounds; ++round) {
    check_ok(DNG_Start_enqueue(exchange.handle, stream.queue), "DNG_Start_enqueue");
    DNG_Queue used = stream.queue;
    check(DNG_Queue_free(&used) == MPI_ERR_REQUEST && used == stream.queue, "a queue with an exchange stays");
    kernels.launch(kernels.partitions, 3, 4, stream.handle, exchange.plan(device, triggered_kernels::block, round));
    check_ok(DNG_Wait_enqueue(exchange.handle, stream.queue), "DNG_Wait_enqueue");
    for (const auto& end : exchange.ends) end->after(stream.handle, round);
  }
  stream.synchronize();
  exchange.look("the bytes, started by the stream");
}

/// Several blocks wait for what the stream has started.
void by_blocks(unsigned seed, const Kernels& kernels, const Communicators& comms) {
  contract().section("by blocks that all wait");
  constexpr int rounds = 6;
  Stream stream;
  Exchange exchange(seed, true, rounds, comms);
  DNG_Device device = DNG_DEVICE_NULL;
  check_ok(DNG_Exchange_device(exchange.handle, &device), "DNG_Exchange_device");
  for (int round = 0; round < rounds; ++round) {
    check_ok(DNG_Start_enqueue(exchange.handle, stream.queue), "DNG_Start_enqueue");
    kernels.launch(kernels.blocks, 3, 4, stream.handle, exchange.plan(device, triggered_kernels::block, round));
    check_ok(DNG_Wait_enqueue(exchange.handle, stream.queue), "DNG_Wait_enqueue");
  }
  stream.synchronize();
  exchange.look("the bytes, by blocks that all wait");
  for (const auto& end : exchange.ends) end->look_for_poison();
}

/// Short partitions of odd sizes, at odd addresses, on a ring. The receiver cuts them otherwise.
void odd_bytes(MPI_Datatype type, int offset, int count, int partitions, bool strided) {
  contract().section("odd bytes");
  const int ranks = contract().ranks, me = contract().rank, left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
  int size = 0;
  MPI_Type_size(type, &size);
  const int step = strided ? 3 : 1, items = count * partitions, begin = offset * size;
  const auto bytes = static_cast<std::size_t>(begin + (items * step + 1) * size);
  MPI_Datatype spread, resized = type;
  if (strided) {
    MPI_Type_create_resized(type, 0, MPI_Aint{step} * size, &spread);
    MPI_Type_contiguous(1, spread, &resized);
    MPI_Type_commit(&resized);
  }
  CudaMemory out(Kind::device, bytes), in(Kind::device, bytes);
  const auto value = [](int rank, int round, int i) { return static_cast<unsigned char>(rank * 83 + round * 29 + i); };
  MPI_Request requests[2];
  MPI_Psend_init(out.data() + begin, partitions, count, resized, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in.data() + begin, 1, items, type, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  Stream stream;
  DNG_Exchange exchange = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(2, requests, &exchange), "DNG_Match");
  for (int round = 0; round < 3; ++round) {
    std::vector<unsigned char> data(bytes), expected(bytes, 0xAA);
    for (int i = 0; i < items * size; ++i) {
      data[static_cast<std::size_t>(begin + i / size * step * size + i % size)] = value(me, round, i);
      expected[static_cast<std::size_t>(begin + i)] = value(left, round, i);
    }
    out.write(data.data());
    in.write(std::vector<unsigned char>(bytes, 0xAA).data());
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    for (int p = partitions; p-- > 0;) check_ok(DNG_Pready_enqueue(p, 0, exchange, stream.queue), "pready");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
    stream.synchronize();
    check(std::memcmp(in.read().data(), expected.data(), bytes) == 0, "odd bytes",
          std::to_string(size) + " bytes, " + std::to_string(count) + " in " + std::to_string(partitions));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check_ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free");
  if (strided) {
    MPI_Type_free(&resized);
    MPI_Type_free(&spread);
  }
}

/// What short partitions go by, as the library tells.
void stamped_or_not() {
  contract().section("stamped or not");
  const int ranks = contract().ranks, me = contract().rank, left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
  CudaMemory out(Kind::device, 4096), in(Kind::device, 4096);
  for (const int ints : {1, 2, 4, 8, 9, 16}) {
    MPI_Request requests[2];
    MPI_Psend_init(out.data(), 3, ints, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in.data(), 3, ints, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    DNG_Exchange exchange = DNG_EXCHANGE_NULL;
    check_ok(DNG_Match(2, requests, &exchange), "DNG_Match");
    const char* why = "";
    check_ok(DNG_Exchange_query(exchange, nullptr, &why), "DNG_Exchange_query");
    const bool stamped = std::strstr(why, "short partitions go by stamped words") != nullptr;
    check(stamped == (ints <= 4 || ints == 8), why, std::to_string(ints) + " ints");
    check_ok(DNG_Exchange_free(&exchange), "DNG_Exchange_free");
  }
}

/// The stream sends the partitions too, in any order. From some round on, which differs between
/// ranks, it takes turns with kernels if kernels may send.
void by_the_stream(unsigned seed, bool regular, const Kernels& kernels, const Communicators& comms) {
  contract().section("by the stream");
  constexpr int rounds = 6;
  Stream stream;
  Exchange exchange(seed, regular, rounds, comms);
  DNG_Device device = DNG_DEVICE_NULL;
  if (!kernels_may_send() && !exchange.ends.empty())
    check(DNG_Exchange_device(exchange.handle, &device) != MPI_SUCCESS, "an error says that kernels cannot");
  const int turns_from = kernels_may_send() && regular ? 1 + (contract().rank + static_cast<int>(seed)) % 4 : rounds;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& end : exchange.ends) end->before(stream.handle, round);
    check_ok(DNG_Start_enqueue(exchange.handle, stream.queue), "DNG_Start_enqueue");
    // The exchange of this round was started in the way of before.
    if (round == turns_from) check_ok(DNG_Exchange_device(exchange.handle, &device), "DNG_Exchange_device");
    const bool by_kernel = device && (round - turns_from) % 2 == 0;
    if (by_kernel)
      kernels.launch(kernels.partitions, 3, 4, stream.handle, exchange.plan(device, triggered_kernels::block, round));
    for (std::size_t i = 0; !by_kernel && i < exchange.sends.size(); ++i) {
      const auto& region = exchange.sends[(i + static_cast<std::size_t>(round)) % exchange.sends.size()];
      check_ok(DNG_Pready_enqueue(region.partition, region.request, exchange.handle, stream.queue), "pready");
    }
    check_ok(DNG_Wait_enqueue(exchange.handle, stream.queue), "DNG_Wait_enqueue");
    for (const auto& end : exchange.ends) end->after(stream.handle, round);
  }
  stream.synchronize();
  exchange.look(regular ? "the bytes, by the stream" : "the bytes, any layouts");
}

/// Partitions so large that many blocks move each, and one request that is not partitioned.
void large_ones() {
  contract().section("large ones");
  const int ranks = contract().ranks, me = contract().rank, partitions = 3, part = 40000;
  const auto bytes = static_cast<std::size_t>(partitions * part) * sizeof(int);
  std::vector<int> data(static_cast<std::size_t>(partitions * part));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i) + me;
  CudaMemory out(Kind::device, bytes), in(Kind::device, bytes), word(Kind::device, 4), next(Kind::device, 4);
  out.write(data.data());
  word.write(&me);
  const int left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
  MPI_Request requests[4];
  MPI_Psend_init(out.data(), partitions, part, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Recv_init(next.data(), 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Precv_init(in.data(), 2, partitions * part / 2, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Send_init(word.data(), 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[3]);
  Stream stream;
  DNG_Exchange exchange = DNG_EXCHANGE_NULL;
  check_ok(DNG_Match(4, requests, &exchange), "DNG_Match");
  DNG_Device device = DNG_DEVICE_NULL;
  check(DNG_Exchange_device(exchange, &device) != MPI_SUCCESS, "kernels start no other messages");
  check(DNG_Pready_enqueue(0, 0, exchange, stream.queue) != MPI_SUCCESS, "ready without a start");
  for (int round = 0; round < 3; ++round) {
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    for (const int p : {2, 0, 1}) check_ok(DNG_Pready_enqueue(p, 0, exchange, stream.queue), "pready");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
  }
  stream.synchronize();
  for (auto& value : data) value += left - me;
  check(std::memcmp(in.read().data(), data.data(), bytes) == 0, "the bytes of large ones");
  check(std::memcmp(next.read().data(), &left, 4) == 0, "the message that is not partitioned");
  if (automatic || expected_way != DNG_WAY_MPI) {
    check_ok(DNG_Start_enqueue(exchange, stream.queue), "start");
    check(DNG_Pready_enqueue(0, 9, exchange, stream.queue) != MPI_SUCCESS, "no such request");
    check(DNG_Pready_enqueue(0, 2, exchange, stream.queue) != MPI_SUCCESS, "a receive");
    check(DNG_Pready_enqueue(0, 3, exchange, stream.queue) != MPI_SUCCESS, "a send that is not partitioned");
    check(DNG_Pready_enqueue(partitions, 0, exchange, stream.queue) != MPI_SUCCESS, "no such partition");
    for (const int p : {0, 1, 2}) check_ok(DNG_Pready_enqueue(p, 0, exchange, stream.queue), "pready");
    check_ok(DNG_Wait_enqueue(exchange, stream.queue), "wait");
  }
  check_ok(DNG_Exchange_free(&exchange), "free");
}

/// The last rank ends. The kernels of the others end too, and say so.
int somebody_dies(const Kernels& kernels, const Communicators& comms) {
  Stream stream;
  Exchange exchange(4, true, 3, comms);
  DNG_Device device = DNG_DEVICE_NULL;
  check_ok(DNG_Exchange_device(exchange.handle, &device), "DNG_Exchange_device");
  check(!exchange.sends.empty() && !exchange.receives.empty(), "messages");
  kernels.launch(kernels.rounds, 1, 4, stream.handle, exchange.plan(device, triggered_kernels::block, 0));
  stream.synchronize();
  exchange.look("before");
  MPI_Barrier(MPI_COMM_WORLD);
  if (contract().rank == contract().ranks - 1) _exit(0);
  kernels.launch(kernels.rounds, 1, 4, stream.handle, exchange.plan(device, triggered_kernels::block, 0));
  stream.synchronize();
  check_equal(exchange.broken(), 1, "a call says that the exchange is broken");
  int code = MPI_SUCCESS;
  check_ok(DNG_Exchange_error(exchange.handle, &code), "DNG_Exchange_error");
  check(code != MPI_SUCCESS, "the host learns of it");
  check(DNG_Exchange_device(exchange.handle, &device) != MPI_SUCCESS, "the exchange stays broken");
  std::printf("survived %d\n", contract().rank);
  std::fflush(stdout);
  _exit(0);
}

/// Two traps of kernels that wait: a value that is held back, and a block that is not resident.
void blocks_of_one_grid(const Kernels& kernels, bool fenced) {
  contract().section("blocks of one grid");
  Stream stream;
  dng_word words[4 * dng_slot_stride / sizeof(dng_word)] = {};
  CudaMemory memory(Kind::device, sizeof words);
  memory.write(words);
  kernels.launch(kernels.hand, 2, 1, stream.handle,
                 triggered_kernels::HandOver{reinterpret_cast<char*>(memory.data()), fenced});
  stream.must_end();
  std::memcpy(words, memory.read().data(), sizeof words);
  check(words[dng_slot_stride / sizeof(dng_word)] == triggered_kernels::handed_over, "the value");
}

CONTRACT_PROGRAM(gpu_kernels) {
  Contract c("gpu_kernels", &argc, &argv);
  if (!partitioned_calls()) {
    c.skip("the MPI has no partitioned messages");
    return c.finish();
  }
  const std::string way = argc > 1 ? argv[1] : "";
  expected_way = way == "kernels"             ? DNG_WAY_KERNELS
                 : way == "memory-operations" ? DNG_WAY_MEMORY_OPERATIONS
                                              : DNG_WAY_MPI;
  automatic = way == "auto";
  use_own_device();
  const Kernels kernels;
  const std::string what = argc > 2 ? argv[2] : "";
  if (what == "fenced" || what == "unfenced") {
    blocks_of_one_grid(kernels, what == "fenced");
    return c.finish();
  }
  {
    const Communicators comms;
    if (what == "dies") return somebody_dies(kernels, comms);
    const char* seed = std::getenv("CONTRACT_SEED");
    const unsigned first = seed ? static_cast<unsigned>(std::atoi(seed)) : 1;
    for (unsigned i = 0; kernels_may_send() && i < 6; ++i) {
      by_kernels(first + i, triggered_kernels::block, 20, kernels, comms);
      if (i == 1) by_kernels(first + 6, triggered_kernels::thread, 400, kernels, comms);
      if (i == 2) by_kernels(first + 7, triggered_kernels::warp, 4, kernels, comms);
      if (i == 2)
        for (const int scope : {triggered_kernels::thread, triggered_kernels::warp, triggered_kernels::block})
          by_turns(scope, scope == triggered_kernels::thread ? 2 : 300, 7, kernels);
      if (i >= 3) started_by_the_stream(first + 20 + i, kernels, comms);
      if (i < 2) by_blocks(first + 40 + i, kernels, comms);
    }
    int kernels_wait = expected_way == DNG_WAY_KERNELS, everywhere = 0;
    MPI_Allreduce(&kernels_wait, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (everywhere) stamped_or_not();
    for (const bool strided : {false, true}) {
      odd_bytes(MPI_CHAR, 1, 5, 4, strided);
      odd_bytes(MPI_CHAR, 0, 16, 3, strided);
      odd_bytes(MPI_SHORT, 1, 5, 4, strided);
      odd_bytes(MPI_DOUBLE, 1, 3, 5, strided);
    }
    for (unsigned i = 0; i < 4; ++i) by_the_stream(first + 30 + i, i < 2, kernels, comms);
    large_ones();
  }
  return c.finish();
}

}  // namespace gpu_kernels_contract
