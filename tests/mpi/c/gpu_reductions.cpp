// Reductions on device memory: every operation on every datatype, of every length, in place and
// not. Each result is compared bit for bit with one that is reduced here, rank by rank. The bytes
// around a result, and the gaps in it, must keep their values.
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include <unistd.h>

#include "sim_calls.hpp"
#include "surface.hpp"
#include "team.hpp"

namespace gpu_reductions_contract {

// --- what is reduced -----------------------------------------------------------------------------

template <class V, class I>
struct Pair {
  V value;
  I index;
};

template <class T>
struct Traits {
  static constexpr bool integer = std::is_integral_v<T>, pair = false, complex = false;
};
template <class T>
struct Traits<std::complex<T>> {
  static constexpr bool integer = false, pair = false, complex = true;
};
template <class V, class I>
struct Traits<Pair<V, I>> {
  static constexpr bool integer = false, pair = true, complex = false;
};

/// Numbers that every MPI adds to the same bits in every order, or that show the order.
template <class T>
T number(int rank, long i, int how) {
  const int small = int((i * 7 + rank * 3 + how) % 5) - (std::is_signed_v<T> ? 2 : 0);
  if constexpr (std::is_integral_v<T>) return T(small);
  return T(small) / 4 + T(rank) / T(3);
}
template <class T>
struct Make {
  static T value(int rank, long i, int how) {
    if constexpr (Traits<T>::pair)
      return {decltype(T::value)((i * 5 + rank * how) % 3), decltype(T::index)(int((i + rank * 7) % 11))};
    else if constexpr (Traits<T>::complex)
      return {number<typename T::value_type>(rank, i, how), number<typename T::value_type>(rank, i + 3, how)};
    else
      return number<T>(rank, i, how);
  }
};

enum class Op { sum, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc };
struct NamedOp {
  Op op;
  const char* name;
  MPI_Op handle;
};
const std::vector<NamedOp>& ops() {
  static const std::vector<NamedOp> all = {
      {Op::sum, "sum", MPI_SUM},    {Op::prod, "prod", MPI_PROD},       {Op::min, "min", MPI_MIN},
      {Op::max, "max", MPI_MAX},    {Op::land, "land", MPI_LAND},       {Op::lor, "lor", MPI_LOR},
      {Op::lxor, "lxor", MPI_LXOR}, {Op::band, "band", MPI_BAND},       {Op::bor, "bor", MPI_BOR},
      {Op::bxor, "bxor", MPI_BXOR}, {Op::minloc, "minloc", MPI_MINLOC}, {Op::maxloc, "maxloc", MPI_MAXLOC}};
  return all;
}
/// How the standard groups datatypes.
enum class Group { c_integer, fortran_integer, floating, complex, logical, byte, pair };
bool allowed(Op op, Group group) {
  switch (op) {
    case Op::sum:
    case Op::prod:
      return group == Group::c_integer || group == Group::fortran_integer || group == Group::floating ||
             group == Group::complex;
    case Op::min:
    case Op::max: return group == Group::c_integer || group == Group::fortran_integer || group == Group::floating;
    case Op::land:
    case Op::lor:
    case Op::lxor: return group == Group::c_integer || group == Group::logical;
    case Op::band:
    case Op::bor:
    case Op::bxor: return group == Group::c_integer || group == Group::fortran_integer || group == Group::byte;
    default: return group == Group::pair;
  }
}

template <class T>
T combine(Op op, T a, T b) {
  if constexpr (Traits<T>::pair) {
    if (a.value == b.value) return {a.value, std::min(a.index, b.index)};
    return (op == Op::minloc) == (a.value < b.value) ? a : b;
  } else if constexpr (Traits<T>::complex) {
    using R = typename T::value_type;
    if (op == Op::sum) return {a.real() + b.real(), a.imag() + b.imag()};
    const volatile R rr = a.real() * b.real(), ii = a.imag() * b.imag(), ri = a.real() * b.imag(),
                     ir = a.imag() * b.real();
    return {rr - ii, ri + ir};
  } else {
    switch (op) {
      case Op::sum: return T(a + b);
      case Op::prod: return T(a * b);
      case Op::min: return std::min(a, b);
      case Op::max: return std::max(a, b);
      default: break;
    }
    if constexpr (std::is_integral_v<T>) switch (op) {
        case Op::land: return T(a && b);
        case Op::lor: return T(a || b);
        case Op::lxor: return T(!a != !b);
        case Op::band: return T(a & b);
        case Op::bor: return T(a | b);
        case Op::bxor: return T(a ^ b);
        default: break;
      }
    return a;
  }
}

/// Writes an element without its gaps.
template <class T>
void put(unsigned char* at, const T& value) {
  if constexpr (Traits<T>::pair) {
    std::memcpy(at + offsetof(T, value), &value.value, sizeof value.value);
    std::memcpy(at + offsetof(T, index), &value.index, sizeof value.index);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
}

// --- calls ---------------------------------------------------------------------------------------

enum class Call { allreduce, reduce, reduce_scatter_block, reduce_scatter, scan, exscan };
const char* name_of(Call call) {
  static const char* const names[] = {"Allreduce",      "Reduce", "Reduce_scatter_block",
                                      "Reduce_scatter", "Scan",   "Exscan"};
  return names[int(call)];
}

/// How many elements a rank gets of `n`. Uneven, and nothing for some.
int share(int rank, int n) { return rank % 3 == 1 ? 0 : n + rank; }

constexpr int guard = 64;

/// One rank's memory: guards around `size` bytes.
struct Memory {
  Memory(Kind kind, std::size_t bytes, int misaligned)
      : memory(kind, bytes + 2 * guard + 16), image(bytes + 2 * guard + 16, 0xA5), at(guard + misaligned) {}
  void* data() { return memory.data() + at; }
  unsigned char* element(std::size_t offset) { return image.data() + at + offset; }
  void write() { memory.write(image.data()); }
  bool holds() const {
    const auto got = memory.read();
    return std::equal(got.begin(), got.end(), image.begin());
  }
  CudaMemory memory;
  std::vector<unsigned char> image;  // what it should hold
  std::size_t at;
};

struct Place {
  MPI_Comm comm;
  int rank, ranks;
};
Place place_of(MPI_Comm comm) {
  Place place{comm, 0, 0};
  PMPI_Comm_rank(comm, &place.rank);
  PMPI_Comm_size(comm, &place.ranks);
  return place;
}

enum class Form { blocking, nonblocking, persistent };
struct How {
  Form form = Form::blocking;
  bool in_place = false;
  Kind kind = Kind::device;
  int misaligned = 0;     // elements
  bool large = false;     // the large-count form
  bool may_fail = false;  // an error is no failure of the test
};

/// Begins a nonblocking call, or makes a persistent request.
int begin_mpi(Call call, Form form, const void* send, void* receive, int n, const int* counts, MPI_Datatype type,
              MPI_Op op, int root, MPI_Comm comm, MPI_Request* request) {
#if MPI_VERSION >= 4
  const auto info = MPI_INFO_NULL;
  if (form == Form::persistent) switch (call) {
      case Call::allreduce: return MPI_Allreduce_init(send, receive, n, type, op, comm, info, request);
      case Call::reduce: return MPI_Reduce_init(send, receive, n, type, op, root, comm, info, request);
      case Call::reduce_scatter_block:
        return MPI_Reduce_scatter_block_init(send, receive, n, type, op, comm, info, request);
      case Call::reduce_scatter: return MPI_Reduce_scatter_init(send, receive, counts, type, op, comm, info, request);
      case Call::scan: return MPI_Scan_init(send, receive, n, type, op, comm, info, request);
      case Call::exscan: return MPI_Exscan_init(send, receive, n, type, op, comm, info, request);
    }
#endif
  (void)form;
  switch (call) {
    case Call::allreduce: return MPI_Iallreduce(send, receive, n, type, op, comm, request);
    case Call::reduce: return MPI_Ireduce(send, receive, n, type, op, root, comm, request);
    case Call::reduce_scatter_block: return MPI_Ireduce_scatter_block(send, receive, n, type, op, comm, request);
    case Call::reduce_scatter: return MPI_Ireduce_scatter(send, receive, counts, type, op, comm, request);
    case Call::scan: return MPI_Iscan(send, receive, n, type, op, comm, request);
    case Call::exscan: return MPI_Iexscan(send, receive, n, type, op, comm, request);
  }
  return MPI_ERR_OTHER;
}

int finish(MPI_Request* request, bool by_test) {
  if (!by_test) return MPI_Wait(request, MPI_STATUS_IGNORE);
  int done = 0, code = MPI_SUCCESS;
  while (!done && code == MPI_SUCCESS) code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return code;
}

int call_mpi(Call call, const Place& place, const How& how, Memory& in, Memory& out, int n,
             const std::vector<int>& counts, MPI_Datatype type, MPI_Op op, int root) {
  const void* send = how.in_place ? MPI_IN_PLACE : in.data();
  const auto comm = place.comm;
  if (call == Call::reduce && how.in_place && place.rank != root) send = in.data();
  void* receive = call == Call::reduce && place.rank != root ? nullptr : out.data();
  if (how.form != Form::blocking) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = begin_mpi(call, how.form, send, receive, n, counts.data(), type, op, root, comm, &request);
    const bool by_test = (n + place.rank) % 2 == 0;
    if (how.form == Form::nonblocking) return code == MPI_SUCCESS ? finish(&request, by_test) : code;
    for (int starts = how.in_place ? 1 : 3; starts > 0 && code == MPI_SUCCESS; --starts) {
      MPI_Start(&request);
      code = finish(&request, by_test);
    }
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    return code;
  }
#if MPI_VERSION >= 4
  if (how.large) {
    const std::vector<MPI_Count> large(counts.begin(), counts.end());
    switch (call) {
      case Call::allreduce: return MPI_Allreduce_c(send, receive, n, type, op, comm);
      case Call::reduce: return MPI_Reduce_c(send, receive, n, type, op, root, comm);
      case Call::reduce_scatter_block: return MPI_Reduce_scatter_block_c(send, receive, n, type, op, comm);
      case Call::reduce_scatter: return MPI_Reduce_scatter_c(send, receive, large.data(), type, op, comm);
      case Call::scan: return MPI_Scan_c(send, receive, n, type, op, comm);
      case Call::exscan: return MPI_Exscan_c(send, receive, n, type, op, comm);
    }
  }
#endif
  switch (call) {
    case Call::allreduce: return MPI_Allreduce(send, receive, n, type, op, comm);
    case Call::reduce: return MPI_Reduce(send, receive, n, type, op, root, comm);
    case Call::reduce_scatter_block: return MPI_Reduce_scatter_block(send, receive, n, type, op, comm);
    case Call::reduce_scatter: return MPI_Reduce_scatter(send, receive, counts.data(), type, op, comm);
    case Call::scan: return MPI_Scan(send, receive, n, type, op, comm);
    case Call::exscan: return MPI_Exscan(send, receive, n, type, op, comm);
  }
  return MPI_ERR_OTHER;
}

/// Makes one call, and compares all bytes. `round` makes different data. Returns whether the call
/// succeeded.
template <class T>
bool go(Call call, const Place& place, MPI_Datatype type, const NamedOp& op, int n, const How& how, int round,
        const std::string& what) {
  const int root = round % place.ranks;
  std::vector<int> counts;
  long total = 0, begin = 0, mine = n;
  for (int rank = 0; rank < place.ranks; ++rank) {
    counts.push_back(call == Call::reduce_scatter ? share(rank, n) : n);
    if (rank == place.rank) begin = total, mine = counts.back();
    total += counts.back();
  }
  const bool scatters = call == Call::reduce_scatter || call == Call::reduce_scatter_block;
  if (!scatters) begin = 0, total = mine = n;
  const auto bytes = std::size_t(total) * sizeof(T);
  const int misaligned = how.misaligned * int(alignof(T));
  Memory in(how.kind, bytes, misaligned), out(how.kind, bytes, misaligned);
  auto& input = how.in_place && (call != Call::reduce || place.rank == root) ? out : in;
  for (long i = 0; i < total; ++i) put(input.element(std::size_t(i) * sizeof(T)), Make<T>::value(place.rank, i, round));
  in.write();
  out.write();
  const int code = call_mpi(call, place, how, in, out, n, counts, type, op.handle, root);
  if (how.may_fail && code != MPI_SUCCESS) return false;
  check_ok(code, what);
  const int last = call == Call::scan ? place.rank + 1 : call == Call::exscan ? place.rank : place.ranks;
  const bool gets = (call != Call::reduce || place.rank == root) && last > 0;
  for (long i = 0; gets && i < mine; ++i) {
    auto value = Make<T>::value(0, begin + i, round);
    for (int rank = 1; rank < last; ++rank) value = combine(op.op, value, Make<T>::value(rank, begin + i, round));
    put(out.element(std::size_t(i) * sizeof(T)), value);
  }
  // What is left of an in-place buffer of a scatter is undefined.
  if (!(scatters && how.in_place)) {
    check(out.holds(), what + ", result");
  } else {
    const auto got = out.memory.read();
    const auto end = out.at + std::size_t(mine) * sizeof(T), all = out.at + bytes;
    check(std::equal(got.begin(), got.begin() + long(end), out.image.begin()) &&
              std::equal(got.begin() + long(all), got.end(), out.image.begin() + long(all)),
          what + ", result");
  }
  check(in.holds(), what + ", what was sent");
  return true;
}

/// Until the ranks have got to know each other, the MPI does the calls. The results of the MPI need
/// not have the same bits, so these calls are made with numbers that are exact.
void get_acquainted(const Place& place) {
  contract().section("acquaintance");
  Memory in(Kind::device, 64, 0), out(Kind::device, 64, 0);
  for (const Call call :
       {Call::allreduce, Call::reduce, Call::reduce_scatter_block, Call::reduce_scatter, Call::scan, Call::exscan})
    for (int round = 0; round < 6; ++round)
      check_ok(
          call_mpi(call, place, {}, in, out, 1, std::vector<int>(std::size_t(place.ranks), 1), MPI_INT, MPI_SUM, 0),
          "acquaintance");
}

template <class T>
void all_of_type(const Place& place, const char* type_name, MPI_Datatype type, Group group) {
  if (type == MPI_DATATYPE_NULL) return;
  static int round = 0;
  for (const auto& op : ops()) {
    if (!allowed(op.op, group)) continue;
    for (const Call call :
         {Call::allreduce, Call::reduce, Call::reduce_scatter_block, Call::reduce_scatter, Call::scan, Call::exscan}) {
      if (!is_wanted((std::string("MPI_") + name_of(call)).c_str())) continue;
      for (const bool in_place : {false, true})
        for (const int n : {1, 37, 1000}) {
          ++round;
          // Other operations than the sum only with some lengths, and so on: all pairs are met.
          if (op.op != Op::sum && op.op != Op::minloc && (round + n) % 3 != 0) continue;
          const std::string what = std::string(name_of(call)) + ", " + type_name + ", " + op.name + ", " +
                                   std::to_string(n) + (in_place ? ", in place" : "");
          contract().section(what);
          How how;
          how.in_place = in_place;
          how.misaligned = round % 4 == 0 || (round % 7 == 3 && place.rank == 1);
#if MPI_VERSION >= 4
          how.large = round % 5 == 0;
#endif
          go<T>(call, place, type, op, n, how, round, what);
        }
    }
  }
}

void all_types(const Place& place) {
#define PAIR(V, I) Pair<V, I>
#define TYPE(type, name, group) all_of_type<type>(place, #name, name, Group::group);
  TYPE(signed char, MPI_SIGNED_CHAR, c_integer)
  TYPE(unsigned char, MPI_UNSIGNED_CHAR, c_integer)
  TYPE(short, MPI_SHORT, c_integer)
  TYPE(unsigned short, MPI_UNSIGNED_SHORT, c_integer)
  TYPE(int, MPI_INT, c_integer)
  TYPE(unsigned, MPI_UNSIGNED, c_integer)
  TYPE(long, MPI_LONG, c_integer)
  TYPE(unsigned long, MPI_UNSIGNED_LONG, c_integer)
  TYPE(long long, MPI_LONG_LONG, c_integer)
  TYPE(std::int8_t, MPI_INT8_T, c_integer)
  TYPE(std::uint64_t, MPI_UINT64_T, c_integer)
  TYPE(MPI_Aint, MPI_AINT, fortran_integer)
  TYPE(MPI_Count, MPI_COUNT, fortran_integer)
  TYPE(int, MPI_INTEGER, fortran_integer)
  TYPE(unsigned char, MPI_BYTE, byte)
  TYPE(unsigned char, MPI_C_BOOL, logical)
  TYPE(float, MPI_FLOAT, floating)
  TYPE(double, MPI_DOUBLE, floating)
  TYPE(double, MPI_DOUBLE_PRECISION, floating)
  TYPE(std::complex<float>, MPI_C_FLOAT_COMPLEX, complex)
  TYPE(std::complex<double>, MPI_C_DOUBLE_COMPLEX, complex)
  TYPE(PAIR(float, int), MPI_FLOAT_INT, pair)
  TYPE(PAIR(double, int), MPI_DOUBLE_INT, pair)
  TYPE(PAIR(long, int), MPI_LONG_INT, pair)
  TYPE(PAIR(short, int), MPI_SHORT_INT, pair)
  TYPE(PAIR(int, int), MPI_2INT, pair)
#undef TYPE
#undef PAIR
}

/// Data that are reduced in parts, by three ranks and more. 1 MiB in place is the most that is
/// not.
void long_ones(const Place& place) {
  const auto sum = ops()[0];
  int round = 0;
  for (const Call call : {Call::allreduce, Call::reduce, Call::reduce_scatter_block, Call::scan})
    for (const int n : {32768, 70001, 131072, 131074, 1 << 20, (1 << 20) + 333})
      for (const bool in_place : {false, true}) {
        const std::string what =
            std::string("long ") + name_of(call) + ", " + std::to_string(n) + (in_place ? ", in place" : "");
        contract().section(what);
        How how;
        how.in_place = in_place;
        go<double>(call, place, MPI_DOUBLE, sum, call == Call::reduce_scatter_block ? n / place.ranks : n, how, ++round,
                   what);
        if (call == Call::allreduce)
          go<Pair<double, int>>(call, place, MPI_DOUBLE_INT, ops().back(), n / 2, how, round, what + ", pairs");
      }
}

/// Memory that others cannot read in its place. The order of the sums shows who has made them.
void other_memory(const Place& place) {
  int round = 0;
  for (const Kind kind : {Kind::pool, Kind::mapped})
    for (int call = 0; call < 6; ++call)
      for (const int n : {50, 40000, 700000})
        for (const bool in_place : {false, true}) {
          if (n > 50000 && Call(call) != Call::allreduce) continue;
          How how;
          how.kind = kind;
          how.in_place = in_place;
          const std::string what = std::string(name_of(kind)) + ", " + name_of(Call(call)) + ", " + std::to_string(n);
          contract().section(what);
          go<double>(Call(call), place, MPI_DOUBLE, ops()[0], n, how, ++round, what);
          go<Pair<double, int>>(Call(call), place, MPI_DOUBLE_INT, ops().back(), n, how, round, what + ", pairs");
        }
}

/// Each rank chooses its memory by chance and is late by chance. The numbers are exact, because the
/// MPI does the calls in which one rank's memory is not a device's.
void everything_changes(const Place& place, unsigned seed) {
  const auto other = devices().count > 1 ? Kind::other_device : Kind::device;
  const Kind all[] = {Kind::device, Kind::device, Kind::host,   Kind::managed,
                      Kind::pool,   Kind::pinned, Kind::mapped, other};
  std::mt19937 random(seed);
  const auto chance = [&](int n) { return int(random() % unsigned(n)); };
  for (int round = 0; round < 60; ++round) {
    const auto call = Call(chance(6));
    const int n = 1 + chance(3000);
    const bool in_place = chance(3) == 0, alike = chance(2) == 0;
    How how;
    // MPICH 4.0 crashes if a root other than the first rank reduces in place.
    how.in_place = in_place && call != Call::reduce;
    int sleep = 0;
    for (int rank = 0; rank < place.ranks; ++rank) {
      const auto kind = all[chance(8)];
      const int late = chance(4) == 0 ? chance(3000) : 0, misaligned = chance(2);
      if (rank != place.rank) continue;
      how.kind = alike ? Kind::device : kind;
      how.misaligned = misaligned;
      sleep = late;
    }
    const std::string what = std::string("everything changes, ") + name_of(call);
    contract().section(what);
    if (sleep) usleep(useconds_t(sleep));
    go<int>(call, place, MPI_INT, ops()[std::size_t(chance(4))], n, how, round, what);
  }
}

/// Messages that need their receivers, and other collectives, around reductions.
void other_traffic(const Place& place) {
  contract().section("other traffic");
  constexpr int n = 200000;
  const int right = (place.rank + 1) % place.ranks, left = (place.rank + place.ranks - 1) % place.ranks;
  const std::vector<double> values(n, place.rank + 0.5);
  CudaMemory out(Kind::device, n * sizeof(double)), in(Kind::device, n * sizeof(double));
  std::vector<double> host_in(n);
  for (int round = 0; round < 6; ++round) {
    const std::string what = "other traffic, round " + std::to_string(round);
    out.write(values.data());
    MPI_Request requests[4];
    MPI_Irecv(in.data(), n, MPI_DOUBLE, left, 1, place.comm, &requests[0]);
    MPI_Irecv(host_in.data(), n, MPI_DOUBLE, left, 2, place.comm, &requests[1]);
    MPI_Isend(out.data(), n, MPI_DOUBLE, right, 1, place.comm, &requests[2]);
    // The others are in a reduction while this rank sends.
    if (round % 3 == 1 && place.rank == 0) {
      check_ok(MPI_Ssend(values.data(), n, MPI_DOUBLE, right, 2, place.comm), what);
      requests[3] = MPI_REQUEST_NULL;
    } else {
      MPI_Isend(values.data(), n, MPI_DOUBLE, right, 2, place.comm, &requests[3]);
    }
    go<int>(Call::allreduce, place, MPI_INT, ops()[0], 500, {}, round, what);
    int one = 1, sum = 0;
    MPI_Request own;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, place.comm, &own);
    go<int>(Call::scan, place, MPI_INT, ops()[0], 500, {}, round, what);
    check_ok(MPI_Wait(&own, MPI_STATUS_IGNORE), what);
    check_equal(sum, place.ranks, what + ", MPI_Iallreduce");
    check_ok(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), what);
    const auto got = in.read();
    double first;
    std::memcpy(&first, got.data() + got.size() - sizeof first, sizeof first);
    check(first == left + 0.5 && host_in.back() == left + 0.5, what + ", messages");
  }
}

/// Memory is freed and allocated again between the calls, so addresses come again.
void memory_comes_and_goes(const Place& place) {
  contract().section("memory comes and goes");
  for (int round = 0; round < 12; ++round) {
    const CudaMemory other(Kind::device, std::size_t(1 + round % 3) << 20);
    go<double>(Call::allreduce, place, MPI_DOUBLE, ops()[0], 1000 + round, {}, round, "memory comes and goes");
  }
}

void several_communicators(const Place& world) {
  contract().section("several communicators");
  MPI_Comm duplicate, backwards, half;
  MPI_Comm_dup(world.comm, &duplicate);
  MPI_Comm_split(world.comm, 0, -world.rank, &backwards);
  MPI_Comm_split(world.comm, world.rank % 2, world.rank, &half);
  MPI_Comm all[] = {duplicate, backwards, half, MPI_COMM_SELF};
  for (const auto comm : all) get_acquainted(place_of(comm));
  for (int round = 0; round < 4; ++round)
    for (const auto comm : all)
      for (const bool in_place : {false, true}) {
        How how;
        how.in_place = in_place;
        go<double>(Call::allreduce, place_of(comm), MPI_DOUBLE, ops()[0], 100 * round + 7, how, round, "communicators");
        go<float>(Call::reduce_scatter, place_of(comm), MPI_FLOAT, ops()[1], 10 * round + 7, how, round,
                  "communicators");
      }
  for (auto comm : {duplicate, backwards, half}) MPI_Comm_free(&comm);
  // The next one may have an old one's handle.
  MPI_Comm_dup(world.comm, &duplicate);
  for (int round = 0; round < 4; ++round)
    go<int>(Call::allreduce, place_of(duplicate), MPI_INT, ops()[0], 100, {}, round, "communicators");
  MPI_Comm_free(&duplicate);
}

void first_of_both(void* in, void* inout, int* n, MPI_Datatype*) {
  std::memcpy(inout, in, std::size_t(*n) * sizeof(int));
}

/// What no kernel does is the MPI's, and its errors are.
void left_to_the_mpi(const Place& place) {
  contract().section("left to the MPI");
  constexpr int n = 300;
  std::vector<long double> values(n, 1.5L + place.rank);
  CudaMemory in(Kind::device, n * sizeof(long double)), out(Kind::device, n * sizeof(long double));
  in.write(values.data());
  out.write(values.data());
  check_ok(MPI_Allreduce(in.data(), out.data(), n, MPI_LONG_DOUBLE, MPI_SUM, place.comm), "long double");
  const auto bytes = out.read();
  long double last;
  std::memcpy(&last, bytes.data() + (n - 1) * sizeof last, sizeof last);
  check(last == 1.5L * place.ranks + place.ranks * (place.ranks - 1) / 2, "long double, result");
  const int code = MPI_Allreduce(in.data(), out.data(), n, MPI_FLOAT, MPI_BAND, place.comm);
  check(code != MPI_SUCCESS, "an operation that the type does not have");
  MPI_Op own;
  MPI_Op_create(first_of_both, 0, &own);
  const std::vector<int> mine(n, place.rank + 1);
  CudaMemory from(Kind::device, n * sizeof(int)), to(Kind::device, n * sizeof(int));
  from.write(mine.data());
  check_ok(MPI_Allreduce(from.data(), to.data(), n, MPI_INT, own, place.comm), "an operation of the program's own");
  int got;
  std::memcpy(&got, to.read().data(), sizeof got);
  check_equal(got, 1, "an operation of the program's own");
  MPI_Op_free(&own);
  // Nothing is reduced, so nothing is looked at.
  check_ok(MPI_Allreduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, place.comm), "nothing");
  go<int>(Call::allreduce, place, MPI_INT, ops()[0], 500, {}, 1, "after that");
}

/// A device fails once on each rank. No rank may hang, and after that all is well again.
void recovers(const Place& place) {
  contract().section("recovers");
  int failed = 0;
  for (int round = 0; round < 80; ++round) {
    How how;
    how.in_place = round % 2 == 0;
    how.may_fail = round < 70;
    failed += !go<double>(Call::allreduce, place, MPI_DOUBLE, ops()[0], 1000, how, round, "recovers");
  }
  int some = 0;
  PMPI_Allreduce(&failed, &some, 1, MPI_INT, MPI_SUM, place.comm);
  check(some > 0, "a failure was told");
}

/// The last rank ends at some moment of a reduction in place, so many microseconds after the 520th.
/// The others get an error, and do not hang. At calls 512 and 1024 the ranks ask each other by the
/// MPI, which waits for ever for a rank that is gone.
[[noreturn]] void dies(const Place& place, unsigned microseconds) {
  CudaMemory data(Kind::device, 4096);
  std::thread ender;
  auto begin = std::chrono::steady_clock::now();
  int code = MPI_SUCCESS, calls = 0;
  while (code == MPI_SUCCESS) {
    code = MPI_Allreduce(MPI_IN_PLACE, data.data(), 512, MPI_DOUBLE, MPI_SUM, place.comm);
    if (++calls != 520) continue;
    begin = std::chrono::steady_clock::now();
    if (place.rank == place.ranks - 1)
      ender = std::thread([&] {
        usleep(microseconds);
        _exit(0);  // after a signal MPICH would end the other ranks
      });
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  check(calls > 520, "no error before a rank has ended");
  check(spent.count() < 10, "an error in time", std::to_string(spent.count()));
  std::printf("survived %d\n", place.rank);
  std::fflush(stdout);
  _exit(0);
}

// --- nonblocking and persistent ------------------------------------------------------------------

#if MPI_VERSION >= 4
const std::vector<Form> forms = {Form::nonblocking, Form::persistent};
#else
const std::vector<Form> forms = {Form::nonblocking};
#endif
constexpr int lengths[] = {1, 37, 1000, 70001};
const Call calls[] = {Call::allreduce,      Call::reduce, Call::reduce_scatter_block,
                      Call::reduce_scatter, Call::scan,   Call::exscan};

/// Nonblocking calls are as the last blocking ones were.
void agree(const Place& place) {
  for (const auto call : calls)
    for (const int n : lengths) go<int>(call, place, MPI_INT, ops()[0], n, {}, n, "agreement");
}

template <class T>
void forms_of_type(const Place& place, const char* type_name, MPI_Datatype type, std::vector<Op> some) {
  int round = 0;
  for (const auto call : calls)
    for (const auto form : forms)
      for (const bool in_place : {false, true})
        for (const int n : lengths) {
          if (n > 50000 && (call != Call::allreduce || in_place || sizeof(T) != sizeof(double))) continue;
          if (n == 37 && in_place) continue;
          How how;
          how.form = form;
          how.in_place = in_place;
          how.misaligned = ++round % 4 == 0;
          const auto& op = ops()[std::size_t(some[std::size_t(round) % some.size()])];
          const std::string what = std::string(name_of(call)) + ", " + type_name + ", " + op.name + ", " +
                                   std::to_string(n) + (in_place ? ", in place" : "") +
                                   (form == Form::persistent ? ", persistent" : ", nonblocking");
          contract().section(what);
          go<T>(call, place, type, op, n, how, round, what);
        }
}

/// Memory and lateness by chance, as above. The numbers are exact, but the MPI does no such call.
void forms_change(const Place& place, unsigned seed) {
  const Kind all[] = {Kind::device, Kind::device, Kind::host,   Kind::managed,
                      Kind::pool,   Kind::pinned, Kind::mapped, Kind::device};
  std::mt19937 random(seed);
  const auto chance = [&](int n) { return int(random() % unsigned(n)); };
  for (int round = 0; round < 40; ++round) {
    const auto call = Call(chance(6));
    const int n = lengths[chance(3)];
    How how;
    how.form = forms[std::size_t(chance(int(forms.size())))];
    how.in_place = chance(3) == 0;
    int sleep = 0;
    for (int rank = 0; rank < place.ranks; ++rank) {
      const auto kind = all[chance(8)];
      const int late = chance(5) == 0 ? chance(3000) : 0, misaligned = chance(2);
      if (rank != place.rank) continue;
      how.kind = kind, how.misaligned = misaligned, sleep = late;
    }
    // The ranks ask again now and then when they make a request. One of them has device memory.
    if (place.rank == 0) how.kind = Kind::device;
    const std::string what = std::string("forms change, ") + name_of(call);
    contract().section(what);
    if (sleep) usleep(useconds_t(sleep));
    if (round % 2)
      go<double>(call, place, MPI_DOUBLE, ops()[std::size_t(chance(4))], n, how, round, what);
    else
      go<Pair<double, int>>(call, place, MPI_DOUBLE_INT, ops().back(), n, how, round, what);
  }
}

/// One operation of several that are under way at once.
struct UnderWay {
  Call call;
  int n;
  MPI_Request request = MPI_REQUEST_NULL;
  CudaMemory in, out;
  UnderWay(Call call_, int n_, int ranks)
      : call(call_),
        n(n_),
        in(Kind::device, std::size_t(n_) * std::size_t(ranks) * sizeof(double)),
        out(Kind::device, std::size_t(n_) * sizeof(double)) {}

  void fill(const Place& place, int round) {
    std::vector<double> values(std::size_t(n) * std::size_t(place.ranks));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = Make<double>::value(place.rank, long(i), round);
    in.write(values.data());
  }
  int begin(const Place& place, Form form) {
    const std::vector<int> counts(std::size_t(place.ranks), n);
    return begin_mpi(call, form, in.data(), out.data(), n, counts.data(), MPI_DOUBLE, MPI_SUM, 0, place.comm, &request);
  }
  void look(const Place& place, int round, const std::string& what) {
    const int last = call == Call::scan ? place.rank + 1 : call == Call::exscan ? place.rank : place.ranks;
    if (last == 0 || (call == Call::reduce && place.rank != 0)) return;
    const bool scatters = call == Call::reduce_scatter || call == Call::reduce_scatter_block;
    const auto bytes = out.read();
    bool right = true;
    for (int i = 0; i < n; ++i) {
      const long at = scatters ? long(place.rank) * n + i : i;
      double expected = Make<double>::value(0, at, round), got;
      for (int rank = 1; rank < last; ++rank) expected += Make<double>::value(rank, at, round);
      std::memcpy(&got, bytes.data() + std::size_t(i) * sizeof got, sizeof got);
      right &= got == expected;
    }
    check(right, what + ", " + name_of(call));
  }
};

/// In orders that differ from rank to rank. Persistent ones outlive their communicator.
void several_under_way(const Place& world) {
  contract().section("several under way");
  MPI_Comm comm;
  MPI_Comm_dup(world.comm, &comm);
  const auto place = place_of(comm);
  get_acquainted(place);
  agree(place);
  std::vector<std::unique_ptr<UnderWay>> all;
  for (const auto call : calls)
    for (const int n : {1000, 37}) all.push_back(std::make_unique<UnderWay>(call, n, place.ranks));
  for (const auto form : forms) {
    if (form == Form::persistent)
      for (auto& one : all) check_ok(one->begin(place, form), "several under way, init");
    for (int round = 0; round < 4; ++round) {
      const auto what = "several under way, round " + std::to_string(round);
      for (auto& one : all) one->fill(place, round);
      const bool backwards = (place.rank + round) % 2;
      std::vector<MPI_Request> requests;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (form == Form::nonblocking)
          check_ok(all[i]->begin(place, form), what);
        else
          MPI_Start(&all[backwards ? all.size() - 1 - i : i]->request);
      }
      if (round % 2 == 0) {
        for (auto& one : all) requests.push_back(one->request);
        check_ok(MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE), what);
      } else {
        for (std::size_t i = 0; i < all.size(); ++i)
          check_ok(finish(&all[backwards ? all.size() - 1 - i : i]->request, backwards), what);
      }
      for (auto& one : all) one->look(place, round, what);
      if (form == Form::persistent && round == 2) MPI_Comm_free(&comm);
    }
  }
  for (auto& one : all)
    if (one->request != MPI_REQUEST_NULL) MPI_Request_free(&one->request);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

/// Some ranks wait for a reduction while the others are in a collective of the MPI, in which none
/// of Dunnage's code runs, and which the first ones join later.
void progress_by_the_mpi(const Place& place) {
  MPI_Comm other;
  MPI_Comm_dup(place.comm, &other);
  for (const auto kind : {Kind::device, Kind::pool, Kind::managed, Kind::host})
    for (const int n : {37, 70001})
      for (const auto form : forms)
        for (int waiting = 0; waiting < 2; ++waiting) {
          const auto what = std::string("progress by the MPI, ") + name_of(kind) + ", " + std::to_string(n);
          contract().section(what);
          const auto bytes = std::size_t(n) * sizeof(double);
          CudaMemory in(place.rank == 0 ? Kind::device : kind, bytes), out(kind, bytes);
          const std::vector<double> values(std::size_t(n), place.rank + 1.0);
          in.write(values.data());
          MPI_Request request = MPI_REQUEST_NULL;
          check_ok(begin_mpi(Call::allreduce, form, in.data(), out.data(), n, nullptr, MPI_DOUBLE, MPI_SUM, 0,
                             place.comm, &request),
                   what);
          if (form == Form::persistent) MPI_Start(&request);
          int mine = 1, sum = 0;
          const bool waits = place.rank % 2 == waiting;
          if (waits) check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
          check_ok(PMPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, other), what);
          if (!waits) check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
          if (form == Form::persistent) MPI_Request_free(&request);
          double last;
          const auto got = out.read();
          std::memcpy(&last, got.data() + got.size() - sizeof last, sizeof last);
          check(last == place.ranks * (place.ranks + 1) / 2, what);
        }
  MPI_Comm_free(&other);
}

/// Each rank reads the data of the others where they are, in one launch, if all are there. The last
/// rank to come finds them.
void one_launch(const Place& place) {
  contract().section("one launch");
  auto fewest = ~0ull;
  for (int round = 0; round < 12; ++round) {
    How how;
    how.form = Form::nonblocking;
    PMPI_Barrier(place.comm);
    const auto before = sim_launches();
    go<double>(Call::allreduce, place, MPI_DOUBLE, ops()[0], 1000, how, round, "one launch");
    fewest = std::min(fewest, sim_launches() - before);
  }
  auto least = fewest;
  PMPI_Allreduce(&fewest, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, place.comm);
  if (std::getenv("CONTRACT_LAUNCHES")) check_equal(int(least), 1, "one launch");
}

void under_way(const Place& place) {
  agree(place);
  one_launch(place);
  forms_of_type<double>(place, "MPI_DOUBLE", MPI_DOUBLE, {Op::sum, Op::prod, Op::min});
  forms_of_type<short>(place, "MPI_SHORT", MPI_SHORT, {Op::bxor, Op::max, Op::land});
  forms_of_type<std::complex<float>>(place, "MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, {Op::prod, Op::sum});
  forms_of_type<Pair<double, int>>(place, "MPI_DOUBLE_INT", MPI_DOUBLE_INT, {Op::minloc, Op::maxloc});
  for (const unsigned seed : {1u, 2u}) forms_change(place, seed);
  several_under_way(place);
  progress_by_the_mpi(place);
}

CONTRACT_PROGRAM(reductions) {
  Contract contract("gpu_reductions", &argc, &argv);
  const std::string what = argc > 1 ? argv[1] : "all";
  const auto world = place_of(MPI_COMM_WORLD);
  get_acquainted(world);
  if (what == "types" || what == "all") all_types(world);
  if (what == "others" || what == "all") {
    long_ones(world);
    for (const unsigned seed : {1u, 2u}) everything_changes(world, seed);
    other_traffic(world);
    memory_comes_and_goes(world);
    several_communicators(world);
    left_to_the_mpi(world);
  }
  if (what == "memory" || what == "all") other_memory(world);
  if (what == "under_way" || what == "all") under_way(world);
  if (what == "recovers") recovers(world);
  if (what == "dies") dies(world, unsigned(std::atoi(argv[2])));
  if (what == "faults")
    for (int round = 0; round < 6; ++round)
      for (const bool in_place : {false, true}) {  // an argument more: in other forms too
        How how;
        how.in_place = in_place;
        for (const int n : {300000, 5000})
          go<double>(Call::allreduce, world, MPI_DOUBLE, ops()[0], n, how, round, "faults");
        if (argc <= 2) continue;
        for (const auto form : forms) {
          how.form = form;
          go<double>(Call::allreduce, world, MPI_DOUBLE, ops()[0], 300000, how, round, "faults under way");
        }
      }
  return contract.finish();
}

}  // namespace gpu_reductions_contract
