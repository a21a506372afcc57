// MPI_Allreduce on device memory between the ranks of several hosts. The ranks of a host reduce
// their data in parts, and the MPI reduces each part with those of the other hosts. Every result is
// compared with one that is reduced here; sums of fractions must have one result on all ranks and
// in every run. The other calls of such a communicator, and what the GPUs cannot do, are the MPI's.
// With an argument only a few calls are made, for devices that fail.
#include <cmath>
#include <cstdint>
#include <random>

#include <unistd.h>

#include "cuda_memory.hpp"
#include "surface.hpp"

namespace gpu_hosts_contract {

constexpr std::size_t guard = 64;

/// `n` numbers in the middle of a buffer, with guards around them.
template <class T>
class Numbers {
 public:
  Numbers(Kind kind, std::size_t n, int shift)
      : memory_(kind, n * sizeof(T) + 2 * guard + 64), at_(guard + std::size_t(shift) * sizeof(T)), n_(n) {
    image_.assign(n * sizeof(T) + 2 * guard + 64, 0xA5);
    memory_.write(image_.data());
  }
  void* data() { return memory_.data() + at_; }
  void expect(const std::vector<T>& values) { std::memcpy(image_.data() + at_, values.data(), n_ * sizeof(T)); }
  void write(const std::vector<T>& values) {
    expect(values);
    memory_.write(image_.data());
  }
  std::vector<T> read() const {
    const auto bytes = memory_.read();
    std::vector<T> values(n_);
    std::memcpy(values.data(), bytes.data() + at_, n_ * sizeof(T));
    return values;
  }
  bool holds() const {
    const auto bytes = memory_.read();
    return std::equal(bytes.begin(), bytes.end(), image_.begin());
  }

 private:
  CudaMemory memory_;
  std::vector<unsigned char> image_;
  std::size_t at_, n_;
};

struct Where {
  MPI_Comm comm;
  int rank = 0, ranks = 1;
  explicit Where(MPI_Comm of) : comm(of) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
  }
};

struct How {
  Kind kind = Kind::device;
  bool in_place = false;
  int shift = 0;  // elements
  bool large = false;
  bool may_fail = false;  // an error is no failure of the test
};

template <class T>
std::vector<T> numbers(int rank, std::size_t n, int round) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = T(int((i * 7 + std::size_t(rank * 3 + round)) % 11) - 4);
  return values;
}

int all_reduce(const void* send, void* receive, std::size_t n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               bool large) {
#if MPI_VERSION >= 4
  if (large) return MPI_Allreduce_c(send, receive, MPI_Count(n), type, op, comm);
#endif
  (void)large;
  return MPI_Allreduce(send, receive, int(n), type, op, comm);
}

/// Numbers whose result depends on nothing but themselves. Returns whether the call succeeded.
template <class T, class Combine>
bool exact(const Where& where, MPI_Datatype type, MPI_Op op, Combine&& combine, std::size_t n, const How& how,
           int round, const std::string& what) {
  contract().section(what);
  Numbers<T> in(how.kind, n, how.shift), out(how.kind, n, how.shift);
  (how.in_place ? out : in).write(numbers<T>(where.rank, n, round));
  const void* send = how.in_place ? MPI_IN_PLACE : in.data();
  const int code = all_reduce(send, out.data(), n, type, op, where.comm, how.large);
  if (how.may_fail && code != MPI_SUCCESS) return false;
  check_ok(code, what);
  auto expected = numbers<T>(0, n, round);
  for (int rank = 1; rank < where.ranks; ++rank) {
    const auto theirs = numbers<T>(rank, n, round);
    for (std::size_t i = 0; i < n; ++i) expected[i] = combine(expected[i], theirs[i]);
  }
  out.expect(expected);
  check(out.holds(), what + ", result");
  if (!how.in_place) check(in.holds(), what + ", what was sent");
  return true;
}
bool exact_ints(const Where& where, std::size_t n, const How& how, int round, const std::string& what) {
  return exact<int>(
      where, MPI_INT, MPI_SUM, [](int a, int b) { return a + b; }, n, how, round, what);
}

constexpr std::size_t lengths[] = {1, 1000, 16383, 16384, 16385, 70001, 300007};

void all_lengths(const Where& where) {
  int round = 0;
  for (const auto n : lengths)
    for (const bool in_place : {false, true})
      for (const Kind kind : {Kind::device, Kind::pool, Kind::mapped}) {
        const auto what = std::string(name_of(kind)) + ", " + std::to_string(n) + (in_place ? ", in place" : "");
        How how{kind, in_place, ++round % 3 == 0, round % 4 == 0};
        exact_ints(where, n, how, round, what + ", int");
        exact<double>(
            where, MPI_DOUBLE, MPI_MAX, [](double a, double b) { return std::max(a, b); }, n, how, round,
            what + ", double");
        exact<std::int64_t>(
            where, MPI_INT64_T, MPI_BXOR, [](auto a, auto b) { return a ^ b; }, n, how, round, what + ", bits");
        exact<unsigned char>(
            where, MPI_BYTE, MPI_BOR, [](auto a, auto b) { return (unsigned char)(a | b); }, n, how, round,
            what + ", bytes");
      }
}

/// The order of a sum is not that of the ranks here, but it is one order.
void one_result(const Where& where) {
  constexpr std::size_t n = 40000;
  contract().section("one result");
  std::vector<double> mine(n), first;
  for (std::size_t i = 0; i < n; ++i) mine[i] = 1.0 / double(i + 1) + where.rank / 3.0;
  for (int round = 0; round < 6; ++round) {
    Numbers<double> in(Kind::device, n, 0), out(Kind::device, n, 0);
    in.write(mine);
    check_ok(MPI_Allreduce(in.data(), out.data(), n, MPI_DOUBLE, MPI_SUM, where.comm), "one result");
    auto got = out.read(), of_first = got;
    PMPI_Bcast(of_first.data(), n, MPI_DOUBLE, 0, where.comm);
    check(got == of_first, "one result on all ranks");
    if (round < 3) continue;  // the first may be the MPI's
    if (first.empty()) first = got;
    check(got == first, "one result in all runs");
    const double sum = where.ranks * (1.0 / n) + where.ranks * (where.ranks - 1) / 6.0;
    check(std::abs(got.back() - sum) < 1e-9, "the sum of fractions");
  }
}

/// Each rank chooses its memory by chance and is late by chance.
void everything_changes(const Where& where, unsigned seed) {
  const Kind all[] = {Kind::device, Kind::device, Kind::host, Kind::managed, Kind::pool, Kind::pinned};
  std::mt19937 random(seed);
  const auto chance = [&](int n) { return int(random() % unsigned(n)); };
  for (int round = 0; round < 40; ++round) {
    const auto n = std::size_t(1 + chance(60000));
    const bool alike = chance(2) == 0;
    How how;
    int sleep = 0;
    for (int rank = 0; rank < where.ranks; ++rank) {
      const How theirs{alike ? Kind::device : all[chance(6)], chance(3) == 0, chance(2), false};
      const int late = chance(4) == 0 ? chance(3000) : 0;
      if (rank == where.rank) how = theirs, sleep = late;
    }
    if (sleep) usleep(useconds_t(sleep));
    exact_ints(where, n, how, round, "everything changes");
  }
}

/// Calls that are the MPI's on such a communicator, and those that no kernel does.
void others(const Where& where) {
  constexpr int n = 30000;
  contract().section("others");
  const auto mine = numbers<int>(where.rank, n, 1);
  for (int round = 0; round < 4; ++round) {
    Numbers<int> in(Kind::device, n, 0), out(Kind::device, n, 0);
    in.write(mine);
    check_ok(MPI_Reduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, 1, where.comm), "MPI_Reduce");
    check_ok(MPI_Scan(in.data(), out.data(), n, MPI_INT, MPI_SUM, where.comm), "MPI_Scan");
    int sum = 0;
    for (int rank = 0; rank <= where.rank; ++rank) sum += numbers<int>(rank, n, 1).back();
    check_equal(out.read().back(), sum, "MPI_Scan, result");
    MPI_Request request;
    check_ok(MPI_Iallreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, where.comm, &request), "MPI_Iallreduce");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Iallreduce");
    sum = 0;
    for (int rank = 0; rank < where.ranks; ++rank) sum += numbers<int>(rank, n, 1).back();
    check_equal(out.read().back(), sum, "MPI_Iallreduce, result");
#if MPI_VERSION >= 4
    check_ok(MPI_Allreduce_init(in.data(), out.data(), n, MPI_INT, MPI_SUM, where.comm, MPI_INFO_NULL, &request),
             "MPI_Allreduce_init");
    check_ok(MPI_Start(&request), "MPI_Allreduce_init");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Allreduce_init");
    check_equal(out.read().back(), sum, "MPI_Allreduce_init, result");
    MPI_Request_free(&request);
#endif
  }
  Numbers<long double> in(Kind::device, n, 0), out(Kind::device, n, 0);
  std::vector<long double> values(n, 1.5L + where.rank);
  in.write(values);
  check_ok(MPI_Allreduce(in.data(), out.data(), n, MPI_LONG_DOUBLE, MPI_SUM, where.comm), "long double");
  check(out.read().back() == 1.5L * where.ranks + where.ranks * (where.ranks - 1) / 2, "long double, result");
}

/// Communicators in another order, with fewer ranks of one host, or with a host's ranks only.
void communicators(const Where& world) {
  MPI_Comm backwards, fewer, pairs;
  MPI_Comm_split(world.comm, 0, -world.rank, &backwards);
  MPI_Comm_split(world.comm, world.rank == 0, world.rank, &fewer);
  MPI_Comm_split(world.comm, world.rank % 2, world.rank, &pairs);
  for (int round = 0; round < 6; ++round)
    for (const auto comm : {backwards, fewer, pairs})
      exact_ints(Where(comm), 20000 + std::size_t(round), {}, round, "communicators");
  for (auto* comm : {&backwards, &fewer, &pairs}) MPI_Comm_free(comm);
  // The next one may have an old one's handle.
  MPI_Comm_dup(world.comm, &backwards);
  for (int round = 0; round < 4; ++round) exact_ints(Where(backwards), 20000, {}, round, "communicators, again");
  MPI_Comm_free(&backwards);
}

/// A device fails once. The result is right, or there is an error, and after that all is well
/// again.
void faults(const Where& where) {
  for (int round = 0; round < 12; ++round) {
    How how{round % 3 == 2 ? Kind::pool : Kind::device, round % 2 == 0};
    how.may_fail = round < 9;
    exact_ints(where, 40000, how, round, "faults");
  }
}

CONTRACT_PROGRAM(hosts) {
  Contract contract("gpu_hosts", &argc, &argv);
  const Where world(MPI_COMM_WORLD);
  use_own_device();
  if (argc > 1) {
    faults(world);
    return contract.finish();
  }
  all_lengths(world);
  one_result(world);
  for (const unsigned seed : {1u, 2u}) everything_changes(world, seed);
  others(world);
  communicators(world);
  return contract.finish();
}

}  // namespace gpu_hosts_contract
