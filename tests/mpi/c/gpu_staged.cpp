// Device memory in calls that the MPI does by itself, beyond what the contracts of collectives and
// one-sided calls do with it: many requests at a time, built-in operations, absolute addresses,
// every way to synchronize a window, what is refused, and devices that fail.
#include <dlfcn.h>
#include <sys/mman.h>

#include <memory>

#include "mirror.hpp"
#include "surface.hpp"

namespace gpu_staged_contract {

const MPI_Comm world = MPI_COMM_WORLD;
int me() { return contract().rank; }
int ranks() { return contract().ranks; }

// Numbers in device memory.
template <class T>
struct Array {
  CudaMemory memory;
  explicit Array(std::vector<T> values, Kind kind = Kind::device) : memory(kind, values.size() * sizeof(T)) {
    memory.write(values.data());
  }
  explicit Array(std::size_t n, Kind kind = Kind::device) : Array(std::vector<T>(n, T(-7)), kind) {}
  T* at() const { return reinterpret_cast<T*>(memory.data()); }
  std::vector<T> get() const {
    const Bytes bytes = memory.read();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  void expect(const std::vector<T>& values, const std::string& what) const { check(get() == values, what); }
};

void built_in_operations() {
  for (const Kind kind : {Kind::device, Kind::managed, Kind::pool}) {
    const std::string what = std::string("built-in operations, ") + name_of(kind);
    contract().section(what);
    constexpr int n = 1000;
    std::vector<double> mine(n), sum(n), most(n), before(n);
    for (int i = 0; i < n; ++i)
      for (int r = 0; r < ranks(); ++r) {
        const double value = (r + 1) * (i % 17) - 3 * r;
        if (r == me()) mine[i] = value;
        if (r < me()) before[i] += value;
        sum[i] += value;
        most[i] = r ? std::max(most[i], value) : value;
      }
    const Array<double> send(mine, kind), receive(std::size_t(n), kind);
    check_ok(MPI_Allreduce(send.at(), receive.at(), n, MPI_DOUBLE, MPI_SUM, world), what + ", sum");
    receive.expect(sum, what + ", sum");
    send.expect(mine, what + ", what was sent");
    check_ok(MPI_Allreduce(send.at(), receive.at(), n, MPI_DOUBLE, MPI_MAX, world), what + ", most");
    receive.expect(most, what + ", most");
    // Of the first rank nothing is written.
    const Array<double> prefix(std::size_t(n), kind);
    check_ok(MPI_Exscan(send.at(), prefix.at(), n, MPI_DOUBLE, MPI_SUM, world), what + ", exscan");
    prefix.expect(me() ? before : std::vector<double>(n, -7), what + ", exscan");
    // The root's in place.
    const Array<double> there(mine, kind);
    check_ok(MPI_Reduce(me() == 0 ? MPI_IN_PLACE : there.at(), me() == 0 ? there.at() : nullptr, n, MPI_DOUBLE, MPI_SUM,
                        0, world),
             what + ", in place");
    there.expect(me() == 0 ? sum : mine, what + ", in place");
    struct Pair {
      double value;
      int rank;
    };
    const Array<Pair> pairs(std::vector<Pair>{{double(10 - me()), me()}}, kind),
        least(std::vector<Pair>{{0, -1}}, kind);
    check_ok(MPI_Allreduce(pairs.at(), least.at(), 1, MPI_DOUBLE_INT, MPI_MINLOC, world), what + ", least");
    check(least.get()[0].value == 11 - ranks() && least.get()[0].rank == ranks() - 1, what + ", least");
    const Array<double> local(mine, kind);
    check_ok(MPI_Reduce_local(send.at(), local.at(), n, MPI_DOUBLE, MPI_SUM), what + ", local");
    std::vector<double> twice = mine;
    for (double& value : twice) value *= 2;
    local.expect(twice, what + ", local");
  }
}

// Many nonblocking collectives, of device memory and of the host's, completed in every way.
void many_requests() {
  constexpr int calls = 24, n = 700;
  for (int how = 0; how < 6; ++how) {
    const std::string what = "many at once, completion " + std::to_string(how);
    contract().section(what);
    std::vector<std::unique_ptr<Array<int>>> buffers;
    std::vector<MPI_Request> requests(calls);
    for (int i = 0; i < calls; ++i) {
      const bool root = i % ranks() == me();
      buffers.push_back(std::make_unique<Array<int>>(std::vector<int>(n, i % 2 || root ? i + 1 : -1),
                                                     i % 5 == 3 ? Kind::host : Kind::device));
      int* const at = buffers.back()->at();
      if (i % 2)
        check_ok(MPI_Iallreduce(MPI_IN_PLACE, at, n, MPI_INT, MPI_SUM, world, &requests[i]), what);
      else
        check_ok(MPI_Ibcast(at, n, MPI_INT, i % ranks(), world, &requests[i]), what);
    }
    int index, flag, left = calls;
    std::vector<int> some(calls);
    while (left > 0) {
      switch (how) {
        case 0: check_ok(MPI_Waitall(calls, requests.data(), MPI_STATUSES_IGNORE), what), left = 0; break;
        case 1: check_ok(MPI_Wait(&requests[left - 1], MPI_STATUS_IGNORE), what), --left; break;
        case 2: check_ok(MPI_Waitany(calls, requests.data(), &index, MPI_STATUS_IGNORE), what), --left; break;
        case 3:
          check_ok(MPI_Testany(calls, requests.data(), &index, &flag, MPI_STATUS_IGNORE), what), left -= flag;
          break;
        case 4:
          check_ok(MPI_Testsome(calls, requests.data(), &index, some.data(), MPI_STATUSES_IGNORE), what), left -= index;
          break;
        case 5:
          check_ok(MPI_Testall(calls, requests.data(), &flag, MPI_STATUSES_IGNORE), what), left -= flag ? left : 0;
          break;
      }
    }
    for (int i = 0; i < calls; ++i)
      buffers[i]->expect(std::vector<int>(n, i % 2 ? (i + 1) * ranks() : i + 1), what + ", call " + std::to_string(i));
  }
}

// Host memory outside of the heap, which can be so far from the device's memory that nothing spans
// both.
struct Mapped {
  std::size_t size;
  int* at;
  Mapped(std::size_t n, int value)
      : size(n),
        at(static_cast<int*>(
            mmap(nullptr, n * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::fill(at, at + n, value);
  }
  ~Mapped() { munmap(at, size * sizeof(int)); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
};

// One buffer by absolute addresses, half of it in the host's memory and half in the device's, both
// with gaps.
void absolute_addresses() {
  contract().section("absolute addresses");
  Mapped host(1 << 16, -7);
  Array<int> device(20);
  const MPI_Datatype strided = make::vector(10, 1, 2, MPI_INT);
  MPI_Aint at[2];
  MPI_Get_address(host.at, &at[0]);
  MPI_Get_address(device.at(), &at[1]);
  MPI_Datatype both = make::owned(strided, [&](MPI_Datatype t) {
    return make::structure({1, 1}, {at[0], at[1]}, {t, t});
  });
  MPI_Type_commit(&both);
  std::vector<int> expected_host(host.size, -7), expected_device(20, -7), values(20);
  for (int i = 0; i < 20; ++i) values[i] = 100 + i;
  for (int i = 0; i < 10; ++i) expected_host[2 * i] = 100 + i, expected_device[2 * i] = 110 + i;
  if (me() == 0)
    check_ok(MPI_Bcast(values.data(), 20, MPI_INT, 0, world), "absolute addresses");
  else
    check_ok(MPI_Bcast(MPI_BOTTOM, 1, both, 0, world), "absolute addresses");
  if (me() != 0) {
    check(std::equal(expected_host.begin(), expected_host.end(), host.at), "absolute addresses, the host's");
    device.expect(expected_device, "absolute addresses, the device's");
  }
  // Not MPI_Gather: Open MPI 4.1's tree does not take data so far apart.
  std::vector<int> all(20 * std::size_t(ranks()), -1);
  Ints counts, displs;
  for (int r = 0; r < ranks(); ++r) counts.push_back(20), displs.push_back(20 * r);
  if (me() != 0)
    check_ok(MPI_Gatherv(MPI_BOTTOM, 1, both, nullptr, nullptr, nullptr, MPI_INT, 0, world),
             "absolute addresses, sent");
  else
    check_ok(MPI_Gatherv(values.data(), 20, MPI_INT, all.data(), counts.data(), displs.data(), MPI_INT, 0, world),
             "absolute addresses, sent");
  for (std::size_t i = 0; me() == 0 && i < all.size(); ++i) check(all[i] == values[i % 20], "absolute addresses, sent");
  MPI_Type_free(&both);
}

// Datatypes whose bytes an MPI may take in an order, or from places, of its own: as it does in host
// memory.
void every_type() {
  for (const Sample& sample : samples()) {
    if (sample.absolute || !takes_bytes(sample, 40)) continue;
    const std::string what = std::string("type ") + sample.name;
    contract().section(what);
    Region plain(sample, 40, 2), mirrored(sample, 40, 2);
    if (overlaps(plain.map())) continue;
    Mirror there(mirrored, me() % 2 ? Kind::device : Kind::managed);
    for (Region* r : {&plain, &mirrored}) me() == 0 ? r->fill(9) : r->poison();
    there.write();
    check_ok(MPI_Bcast(plain.address, plain.count, plain.type, 0, world), what);
    check_ok(MPI_Bcast(there.address(), mirrored.count, mirrored.type, 0, world), what);
    there.read_back();
    check(mirrored.bytes() == plain.bytes(), what);
  }
}

#if MPI_VERSION >= 4
void exchanged() {
  const int right = (me() + 1) % ranks(), left = (me() + ranks() - 1) % ranks();
  for (const bool strided : {true, false})
    for (const int n : {10, 40000}) {
      const std::string what = std::string("MPI_Isendrecv, ") + (strided ? "strided" : "contiguous");
      contract().section(what);
      if (avoided(what)) continue;
      Region out(strided ? make::vector(n, 1, 2, MPI_INT) : make::contiguous(n, MPI_INT), 1, "out");
      Region in(strided ? make::vector(n / 10, 10, 13, MPI_INT) : make::contiguous(n, MPI_INT), 1, "in");
      out.fill(unsigned(left));
      const Bytes expected = out.packed();
      out.fill(unsigned(me()));
      in.poison();
      Mirror from(out, Kind::device), to(in, Kind::device);
      from.write();
      to.write();
      MPI_Request request;
      const MPI_Datatype sent = strided ? out.type : MPI_INT, received = strided ? in.type : MPI_INT;
      const int count = strided ? 1 : n;
      check_ok(
          MPI_Isendrecv(from.address(), count, sent, right, 3, to.address(), count, received, left, 3, world, &request),
          what);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
      to.read_back();
      in.expect(expected, what);
      if (avoided(what + ", replace")) continue;
      check_ok(MPI_Isendrecv_replace(from.address(), count, sent, right, 3, left, 3, world, &request),
               what + ", replace");
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ", replace");
      from.read_back();
      check(out.packed() == expected, what + ", replace");
    }
}
#endif

// A get is there after whatever synchronizes with its target, and a put left before.
void every_synchronization() {
  const int target = (me() + 1) % ranks();
  std::vector<int> memory(100, me());
  MPI_Win win;
  MPI_Win_create(memory.data(), 400, 4, MPI_INFO_NULL, world, &win);
  for (int how = 0; how < 6; ++how) {
    const std::string what = "synchronization " + std::to_string(how);
    contract().section(what);
    PMPI_Barrier(world);
    const Array<int> got(50), put(std::vector<int>(50, 1000 + 10 * me() + how));
    MPI_Win_lock_all(0, win);
    check_ok(MPI_Get(got.at(), 50, MPI_INT, target, 0, 50, MPI_INT, win), what);
    check_ok(MPI_Put(put.at(), 50, MPI_INT, target, 50, 50, MPI_INT, win), what);
    switch (how) {
      case 0: MPI_Win_flush(target, win); break;
      case 1: MPI_Win_flush_all(win); break;
      case 2: MPI_Win_flush_local(target, win); break;
      case 3: MPI_Win_flush_local_all(win); break;
      default: break;
    }
    if (how == 4) {
      MPI_Win_flush((target + 1) % ranks(), win);  // somebody else, where there is one
    }
    if (how < 4) got.expect(std::vector<int>(50, target), what + ", got");
    MPI_Win_unlock_all(win);
    got.expect(std::vector<int>(50, target), what + ", got at the end");
    PMPI_Barrier(world);
    MPI_Win_lock(MPI_LOCK_SHARED, me(), 0, win);
    MPI_Win_unlock(me(), win);
    const int source = (me() + ranks() - 1) % ranks();
    check(std::vector<int>(memory.begin() + 50, memory.end()) == std::vector<int>(50, 1000 + 10 * source + how),
          what + ", put");
  }
  // Nobody's memory: what is there stays.
  const Array<int> kept(10);
  MPI_Win_fence(0, win);
  check_ok(MPI_Get(kept.at(), 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, win), "get from nobody");
  MPI_Win_fence(0, win);
  kept.expect(std::vector<int>(10, -7), "get from nobody");
  MPI_Win_free(&win);
}

void refused() {
  const Array<int> memory(std::size_t(64));
  contract().section("device memory attached to a window");
  MPI_Win win;
  if (MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win) == MPI_SUCCESS) {
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_error(MPI_Win_attach(win, memory.at(), 256), MPI_ERR_BUFFER, "device memory attached to a window");
    MPI_Win_free(&win);
  }
}

#ifdef CONTRACT_HAVE_MPI4_OBJECTS
// Nobody has told the ranks that all of them have Dunnage, so the MPI sends partitions of copies.
void partitioned() {
  contract().section("partitioned");
  constexpr int partitions = 5, count = 30, all = partitions * count;
#ifdef OPEN_MPI
  const Type type(make::contiguous(2, MPI_INT));  // its partitions of strided types arrive in wrong places
  const int stride = 2;
#else
  const Type type(make::resized(0, 4 * sizeof(int), make::vector(2, 1, 2, MPI_INT)));
  const int stride = 4;
#endif
  const auto values = [&](int rank, int turn) {
    std::vector<int> all_values(std::size_t(all) * stride);
    for (int i = 0; i < all * stride; ++i) all_values[i] = 100000 * rank + 1000 * turn + i;
    return all_values;
  };
  const int next = (me() + 1) % ranks(), previous = (me() + ranks() - 1) % ranks();
  Array<int> sent(std::size_t(all) * stride), got(std::size_t(all) * stride);
  MPI_Request requests[2];
  check_ok(MPI_Psend_init(sent.at(), partitions, count, type, next, 1, world, MPI_INFO_NULL, &requests[0]), "psend");
  check_ok(MPI_Precv_init(got.at(), partitions, count, type, previous, 1, world, MPI_INFO_NULL, &requests[1]), "precv");
  for (int turn = 0; turn < 4; ++turn) {
    const std::string what = "partitioned, start " + std::to_string(turn);
    got.memory.write(std::vector<int>(std::size_t(all) * stride, -7).data());
    check_ok(MPI_Startall(2, requests), what);
    sent.memory.write(values(me(), turn).data());  // not before: a partition is read when it is ready
    if (turn == 0) {
      for (const int p : {3, 0, 4, 2, 1}) check_ok(MPI_Pready(p, requests[0]), what + ", ready");
    } else if (turn == 1) {
      int some[] = {4, 0};
      check_ok(MPI_Pready_list(2, some, requests[0]), what + ", list");
      check_error(MPI_Pready(4, requests[0]), MPI_ERR_ARG, what + ", twice");
      check_error(MPI_Pready(partitions, requests[0]), MPI_ERR_ARG, what + ", none of that number");
      check_ok(MPI_Pready_range(1, 3, requests[0]), what + ", range");
    } else {
      check_ok(MPI_Pready_range(0, partitions - 1, requests[0]), what + ", all");
    }
    auto expected = values(previous, turn);
    for (int i = 0; i < all * stride; ++i)
      if (i % stride % 2 == 1 && stride == 4) expected[i] = -7;  // a gap
    if (turn == 2) {
      for (int p = 0; p < partitions; ++p)
        for (int here = 0; !here;) check_ok(MPI_Parrived(requests[1], p, &here), what + ", arrived");
      got.expect(expected, what + ", before the end");
    }
    check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), what + ", end");
    got.expect(expected, what);
  }
  for (auto& request : requests) check_ok(MPI_Request_free(&request), "partitioned, free");
}
#endif

// The MPI gets host memory in place of the buffer, and the program its own back.
void attached_buffer() {
  contract().section("a buffer for MPI_Bsend in device memory");
  constexpr int n = 500;
  const Array<char> buffer(std::size_t(n * sizeof(int) + MPI_BSEND_OVERHEAD));
  const Array<int> sent(std::vector<int>(n, me())), got(n);
  for (int turn = 0; turn < 2; ++turn) {
    check_ok(MPI_Buffer_attach(buffer.at(), int(n * sizeof(int) + MPI_BSEND_OVERHEAD)), "attach");
    check_ok(MPI_Bsend(sent.at(), n, MPI_INT, (me() + 1) % ranks(), 2, world), "bsend");
    const int previous = (me() + ranks() - 1) % ranks();
    check_ok(MPI_Recv(got.at(), n, MPI_INT, previous, 2, world, MPI_STATUS_IGNORE), "receive");
    got.expect(std::vector<int>(n, previous), "what was received");
    void* back = nullptr;
    int size = 0;
    check_ok(MPI_Buffer_detach(&back, &size), "detach");
    check(back == buffer.at() && size == int(n * sizeof(int) + MPI_BSEND_OVERHEAD), "the buffer that was attached");
    buffer.expect(std::vector<char>(n * sizeof(int) + MPI_BSEND_OVERHEAD, -7), "nothing was written into it");
  }
}

using Fail = void (*)(const char*, int, int, int);

// A device that fails is an error of the call, or of what completes it; the next call works.
void failures() {
  auto* const fail = reinterpret_cast<Fail>(dlsym(RTLD_DEFAULT, "dunnageSimFail"));
  auto* const clear = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "dunnageSimFailClear"));
  if (!fail) return contract().skip("no simulated device");
  constexpr int n = 300;
  const Type strided(make::vector(n, 1, 2, MPI_INT));
  const Array<int> memory(std::vector<int>(2 * n, 5)), plain(std::vector<int>(2 * n, 5));
  // Alike on all ranks, so that none waits for another.
  for (const char* function : {"cuPointerGetAttributes", "cuMemAllocHost", "copy", "launch", "cuStreamSynchronize",
                               "cuStreamCreate", "cuCtxPushCurrent", "cuMemAlloc"})
    for (int after = 0; after < 8; ++after)
      for (const bool nonblocking : {false, true}) {
        const std::string what = std::string("failure of ") + function + " after " + std::to_string(after) +
                                 (nonblocking ? ", nonblocking" : "");
        contract().section(what);
        fail(function, after, CUDA_ERROR_UNKNOWN, 0);
        MPI_Request request = MPI_REQUEST_NULL;
        int rc = nonblocking ? MPI_Iallgather(memory.at(), 1, strided, plain.at(), n, MPI_INT, MPI_COMM_SELF, &request)
                             : MPI_Allgather(memory.at(), 1, strided, plain.at(), n, MPI_INT, MPI_COMM_SELF);
        if (nonblocking && rc == MPI_SUCCESS) rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
        clear();
        // What nobody can tell the place of is no buffer.
        if (rc != MPI_SUCCESS)
          check_error(rc, function == std::string("cuPointerGetAttributes") ? MPI_ERR_BUFFER : MPI_ERR_OTHER, what);
        check_ok(MPI_Allreduce(MPI_IN_PLACE, memory.at(), 1, MPI_INT, MPI_MAX, world), what + ", the next");
        if (rc == MPI_SUCCESS) check(plain.get()[n / 2] == 5, what + ", the data");
      }
}

CONTRACT_PROGRAM(staged) {
  Contract contract("gpu_staged", &argc, &argv);
  devices();
  built_in_operations();
  many_requests();
  absolute_addresses();
  every_type();
#if MPI_VERSION >= 4
  exchanged();
#endif
  // Open MPI 4.1 makes no windows of one rank.
  if (ranks() > 1) every_synchronization();
  if (ranks() > 1) refused();
#ifdef CONTRACT_HAVE_MPI4_OBJECTS
  if (ranks() > 1) partitioned();
#endif
  attached_buffer();
  failures();
  return contract.finish();
}

}  // namespace gpu_staged_contract
