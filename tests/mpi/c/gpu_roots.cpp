// MPI_Gather, MPI_Scatter and their kin again and again on one communicator, with data in every
// kind of memory. Roots, layouts, counts, memory and the form of the calls change. Ranks are late.
// Every byte is compared, also those between the data.
#include <unistd.h>

#include <memory>
#include <random>

#include "device_doubles.hpp"
#include "surface.hpp"

namespace gpu_roots_contract {

/// A block holds `length` doubles, `stride` apart, and is `extent` doubles long with its gaps.
constexpr int length = 400, extent = 1300;
constexpr int most_blocks = 2;  // of a rank

/// One block, and `blocks - 1` more of which nothing is used.
Type type_of(int stride, int blocks) {
  MPI_Datatype vector, type;
  MPI_Type_vector(length, 1, stride, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, blocks * extent * MPI_Aint(sizeof(double)), &type);
  MPI_Type_free(&vector);
  return Type(type);
}

double number_of(int rank, int round) { return 100 * round + 10 * rank; }
/// Double i of what count_from(number) fills.
double value_of(double number, int i) { return number + double(i) / 8192; }

/// With a device that fails: an error ends the job.
bool errors_are_fatal() { return std::getenv("CONTRACT_ERRORS_ARE_FATAL") != nullptr; }

/// Blocks of a rank that count_from(number) has filled, from block `at` of its buffer on.
struct Sent {
  double number;
  int at, stride, blocks;
};

/// Whether those blocks have come at block `at`. Elsewhere `before(i)` must still be there.
template <class Before>
bool came(const std::vector<double>& in, int at, int stride, const Sent& sent, Before&& before) {
  for (int i = 0; i < most_blocks * extent; ++i) {
    const int block = i / extent, j = i % extent, place = at * extent + i;
    const bool expected = block < sent.blocks && j % stride == 0 && j / stride < length;
    const int source = (sent.at + block) * extent + j / stride * sent.stride;
    if (in[std::size_t(place)] != (expected ? value_of(sent.number, source) : before(place))) return false;
  }
  return true;
}
/// Whether blocks hold what they were filled with.
bool stayed(const std::vector<double>& all, int at, double number) {
  for (int i = at * extent; i < (at + most_blocks) * extent; ++i)
    if (all[std::size_t(i)] != value_of(number, i)) return false;
  return true;
}

/// One rank's part of all calls. All ranks know that of the others.
struct Rank {
  int stride = 1, blocks = 1, late = 0;
  Kind kind = Kind::device;
};

struct Call {
  bool gathers = true, lists = false, in_place = false;
  int root = 0, form = 0, root_stride = 1;
  Kind root_kind = Kind::device;

  std::string name() const {
    static const char* const forms[] = {"", "nonblocking", "persistent"};
    return std::string(gathers ? "gather" : "scatter") + (lists ? "v " : " ") + forms[form] +
           (in_place ? " in place" : "") + ", root " + std::to_string(root);
  }
};

Kind present(Kind kind) { return kind == Kind::other_device && devices().count < 2 ? Kind::device : kind; }

int finish(MPI_Request& request, bool by_test) {
  if (!by_test) return MPI_Wait(&request, MPI_STATUS_IGNORE);
  int done = 0, code = MPI_SUCCESS;
  while (!done && code == MPI_SUCCESS) code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return code;
}

/// Calls one of three forms with the arguments of the blocking one, which end with the
/// communicator.
template <class Blocking, class Nonblocking, class Init, class... A>
int call_form(int form, Blocking blocking, Nonblocking nonblocking, Init init, A... a) {
  if (form == 0) return blocking(a...);
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == 1) {
    const int code = nonblocking(a..., &request);
    return code == MPI_SUCCESS ? finish(request, contract().rank % 2) : code;
  }
  int code = init(a..., &request);
  for (int start = 0; start < 2 && code == MPI_SUCCESS; ++start) {
    MPI_Start(&request);
    code = finish(request, contract().rank % 2 == start);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return code;
}
#if MPI_VERSION >= 4
#define FORMS(X, IX) \
  MPI_##X            \
  , MPI_##IX, [](auto... a) { return init_of(MPI_##X##_init, a...); }
template <class Init, class... A, std::size_t... i>
int init_with(Init init, const std::tuple<A...>& all, std::index_sequence<i...>) {
  return init(std::get<i>(all)..., MPI_INFO_NULL, std::get<sizeof...(A) - 1>(all));
}
template <class Init, class... A>
int init_of(Init init, A... a) {
  return init_with(init, std::tuple(a...), std::make_index_sequence<sizeof...(A) - 1>());
}
constexpr int forms = 3;
#else
#define FORMS(X, IX) \
  MPI_##X            \
  , MPI_##IX, [](auto...) { return MPI_ERR_OTHER; }
constexpr int forms = 2;
#endif

/// The root's blocks of rank i lie at block places()[i]; those of the last rank come first.
Ints places() {
  Ints all;
  for (int i = contract().ranks; i-- > 0;) all.push_back(most_blocks * i);
  return all;
}

void run(const Call& call, const std::vector<Rank>& ranks, Doubles& own, Doubles& all, int round, MPI_Comm comm) {
  const int me = contract().rank, n = contract().ranks;
  const bool at_root = me == call.root;
  const auto& mine = ranks[std::size_t(me)];
  // Gather and Scatter: one block of each rank, as far apart as the others have their most.
  const int spread = call.lists ? 1 : most_blocks;
  const Type own_type = type_of(mine.stride, spread), all_type = type_of(call.root_stride, spread);
  Ints counts, at = places();
  for (const auto& rank : ranks) counts.push_back(rank.blocks);
  if (!call.lists)
    for (int i = 0; i < n; ++i) at[std::size_t(i)] = most_blocks * i;
  const double number = number_of(me, round);
  call.gathers ? own.count_from(number) : own.fill(-1);
  call.gathers ? all.fill(-1) : all.count_from(number);
  if (call.gathers && call.in_place && at_root) all.count_from(number);
  if (mine.late) usleep(useconds_t(mine.late));

  // Beside the root its arguments mean nothing.
  void* const blocks = at_root ? all.data() : reinterpret_cast<double*>(1);
  const MPI_Datatype t = at_root ? MPI_Datatype(all_type) : MPI_DATATYPE_NULL, s = own_type;
  void* const part = call.in_place && at_root ? MPI_IN_PLACE : static_cast<void*>(own.data());
  const int code =
      call.gathers && call.lists ? call_form(call.form, FORMS(Gatherv, Igatherv), part, mine.blocks, s, blocks,
                                             counts.data(), at.data(), t, call.root, comm)
      : call.gathers ? call_form(call.form, FORMS(Gather, Igather), part, 1, s, blocks, 1, t, call.root, comm)
      : call.lists   ? call_form(call.form, FORMS(Scatterv, Iscatterv), blocks, counts.data(), at.data(), t, part,
                                 mine.blocks, s, call.root, comm)
                     : call_form(call.form, FORMS(Scatter, Iscatter), blocks, 1, t, part, 1, s, call.root, comm);
  const std::string what = call.name() + ", round " + std::to_string(round);
  check_ok(code, what);

  const auto& brought = own.read();
  const auto& rooted = all.read();
  const auto nothing = [](int) { return -1.0; };
  if (!call.gathers) {
    const int blocks_here = call.in_place && at_root ? 0 : mine.blocks;
    const Sent sent{number_of(call.root, round), at[std::size_t(me)], call.root_stride, blocks_here};
    check(came(brought, 0, mine.stride, sent, nothing), what);
    if (at_root)
      for (const int place : at) check(stayed(rooted, place, number), what + ", what was sent");
    return;
  }
  check(stayed(brought, 0, number), what + ", what was sent");
  for (int i = 0; i < n; ++i) {
    const auto& rank = ranks[std::size_t(i)];
    const int place = at[std::size_t(i)];
    const auto from = what + ", from " + std::to_string(i);
    const bool comes = at_root && !(call.in_place && i == me);
    const Sent sent{number_of(i, round), 0, rank.stride, comes ? rank.blocks : 0};
    if (at_root && call.in_place)
      check(came(rooted, place, call.root_stride, sent, [&](int k) { return value_of(number, k); }), from);
    else
      check(came(rooted, place, call.root_stride, sent, nothing), from);
  }
}

/// Each rank chooses by chance. All ranks know what the others choose.
void everything_changes(unsigned seed, int rounds) {
  contract().section("everything changes");
  const int n = contract().ranks;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (!errors_are_fatal()) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const Kind choice[] = {Kind::device, Kind::device,  Kind::device, Kind::device,
                         Kind::host,   Kind::managed, Kind::pool,   Kind::other_device};
  std::mt19937 random(seed);
  const auto chance = [&](int of) { return int(random() % unsigned(of)); };
  std::vector<Rank> ranks;
  ranks.resize(std::size_t(n));
  std::unique_ptr<Doubles> own, all;
  Call call;
  for (int round = 0; round < rounds; ++round) {
    call.gathers = chance(2);
    call.lists = chance(2);
    call.form = round < 12 ? 0 : chance(forms);
    // The MPI does some of these calls.
    if (call.form == 2 && !call.lists && (avoided("MPI_Gather_init") || avoided("MPI_Scatter_init"))) call.form = 1;
    call.in_place = chance(5) == 0;
    if (chance(4) == 0) call.root = chance(n);
    if (chance(6) == 0) call.root_stride = 1 + chance(3);
    const bool fresh = round == 0 || chance(6) == 0;
    for (int i = 0; i < n; ++i) {
      auto& rank = ranks[std::size_t(i)];
      if (chance(6) == 0) rank.stride = 1 + chance(3);
      rank.blocks = call.lists ? chance(most_blocks + 1) : 1;
      rank.late = chance(6) == 0 ? chance(3000) : 0;
      const auto kind = choice[chance(8)], root_kind = choice[chance(8)];
      if (!fresh || i != contract().rank) continue;
      own = std::make_unique<Doubles>(present(kind), most_blocks * extent);
      all = std::make_unique<Doubles>(present(root_kind), n * most_blocks * extent);
    }
    run(call, ranks, *own, *all, round, comm);
  }
  MPI_Comm_free(&comm);
}

/// Several at once on one communicator, completed in orders that differ from rank to rank.
void several_at_once() {
  contract().section("several at once");
  const int me = contract().rank, n = contract().ranks, last = n - 1;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (!errors_are_fatal()) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // More than a rank knows of another without asking.
  constexpr int doubles = 3000;
  constexpr int operations = 5;
  std::vector<std::unique_ptr<Doubles>> out, in;
  for (int i = 0; i < operations; ++i) {
    out.push_back(std::make_unique<Doubles>(i == 2 ? Kind::host : Kind::device, n * doubles));
    in.push_back(std::make_unique<Doubles>(Kind::device, n * doubles));
  }
  const auto from = [&](int i) { return out[std::size_t(i)]->data(); };
  const auto to = [&](int i) { return in[std::size_t(i)]->data(); };
  const auto prepare = [&](int round) {
    for (int i = 0; i < operations; ++i) {
      out[std::size_t(i)]->count_from(number_of(me, round) + 100000 * i);
      in[std::size_t(i)]->fill(-1);
    }
  };
  // gather to rank 0, scatter from the last, gather to rank 0 again, alltoall, scatter from rank 0
  const auto look = [&](int round, const std::string& what) {
    for (int i = 0; i < operations; ++i) {
      const auto& got = in[std::size_t(i)]->read();
      const bool gathered = i == 0 || i == 2, scattered = i == 1 || i == 4;
      const int root = i == 1 ? last : 0;
      for (int rank = 0; rank < n; ++rank) {
        const bool comes = gathered ? me == root : scattered ? rank == 0 : true;
        const int source = scattered ? root : rank;
        const double number = number_of(source, round) + 100000 * i;
        bool right = true;
        for (int j = 0; j < doubles; ++j)
          right &= got[std::size_t(rank * doubles + j)] ==
                   (comes ? value_of(number, (gathered ? 0 : me) * doubles + j) : -1);
        check(right, what + ", operation " + std::to_string(i) + ", from " + std::to_string(rank));
      }
    }
  };
  const auto finish_all = [&](std::vector<MPI_Request>& requests, int round) {
    if (round % 2) {
      MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      return;
    }
    if (me % 2)
      for (std::size_t i = requests.size(); i-- > 0;) check_ok(finish(requests[i], true), "several at once");
    else
      for (auto& request : requests) check_ok(finish(request, false), "several at once");
  };
  const auto d = MPI_DOUBLE;
  for (int round = 0; round < 4; ++round) {
    prepare(round);
    if (round == 0) {  // the ranks agree
      MPI_Gather(from(0), doubles, d, to(0), doubles, d, 0, comm);
      MPI_Scatter(from(1), doubles, d, to(1), doubles, d, last, comm);
      MPI_Gather(from(2), doubles, d, to(2), doubles, d, 0, comm);
      MPI_Alltoall(from(3), doubles, d, to(3), doubles, d, comm);
      MPI_Scatter(from(4), doubles, d, to(4), doubles, d, 0, comm);
      look(round, "one by one");
      continue;
    }
    if (round == 2) usleep(useconds_t(3000 * me));
    std::vector<MPI_Request> requests(operations);
    MPI_Igather(from(0), doubles, d, to(0), doubles, d, 0, comm, &requests[0]);
    MPI_Iscatter(from(1), doubles, d, to(1), doubles, d, last, comm, &requests[1]);
    MPI_Igather(from(2), doubles, d, to(2), doubles, d, 0, comm, &requests[2]);
    MPI_Ialltoall(from(3), doubles, d, to(3), doubles, d, comm, &requests[3]);
    MPI_Iscatter(from(4), doubles, d, to(4), doubles, d, 0, comm, &requests[4]);
    finish_all(requests, round);
    look(round, "nonblocking");
  }
#if MPI_VERSION >= 4
  std::vector<MPI_Request> requests(operations);
  MPI_Gather_init(from(0), doubles, d, to(0), doubles, d, 0, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Scatter_init(from(1), doubles, d, to(1), doubles, d, last, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Gather_init(from(2), doubles, d, to(2), doubles, d, 0, comm, MPI_INFO_NULL, &requests[2]);
  MPI_Alltoall_init(from(3), doubles, d, to(3), doubles, d, comm, MPI_INFO_NULL, &requests[3]);
  MPI_Scatter_init(from(4), doubles, d, to(4), doubles, d, 0, comm, MPI_INFO_NULL, &requests[4]);
  for (int round = 0; round < 5; ++round) {
    prepare(round);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if ((round + me) % 5 == 0) usleep(1000);
      MPI_Start(&requests[(me + round) % 2 ? requests.size() - 1 - i : i]);
    }
    finish_all(requests, round);
    look(round, "persistent");
    if (round == 2) MPI_Comm_free(&comm);
  }
  for (auto& request : requests) MPI_Request_free(&request);
#else
  MPI_Comm_free(&comm);
#endif
}

/// What comes is longer than one rank expects, now and then. The other ranks hear nothing of it.
void too_long() {
  contract().section("too long");
  const int me = contract().rank, n = contract().ranks;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  constexpr int doubles = 3000;
  Doubles one(Kind::device, doubles), all(Kind::device, n * doubles);
  const Ints full(std::size_t(n), doubles);
  Ints at;
  for (int i = 0; i < n; ++i) at.push_back(i * doubles);
  for (int round = 0; round < 8; ++round) {
    const bool bad = round % 3 == 2;
    const std::string what = "too long, round " + std::to_string(round);
    auto counts = full;
    if (bad) counts.back() = 2000;
    one.count_from(number_of(me, round));
    int code = MPI_Gatherv(one.data(), doubles, MPI_DOUBLE, all.data(), counts.data(), at.data(), MPI_DOUBLE, 0, comm);
    check_class(code, bad && me == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, what);
    if (me == 0 && !bad) {
      const auto& got = all.read();
      for (int i = 0; i < n; ++i)
        check(got[std::size_t(i * doubles + 2500)] == value_of(number_of(i, round), 2500), what);
    }
    one.fill(-1);
    if (me == 0) all.count_from(number_of(me, round));
    const int room = bad && me == n - 1 ? 2000 : doubles;
    code = MPI_Scatterv(all.data(), full.data(), at.data(), MPI_DOUBLE, one.data(), room, MPI_DOUBLE, 0, comm);
    check_class(code, room < doubles ? MPI_ERR_TRUNCATE : MPI_SUCCESS, what);
    if (room == doubles)
      check(one.read()[2500] == value_of(number_of(0, round), me * doubles + 2500), what + ", scatter");
  }
  // What the MPI is to refuse.
  check_class(MPI_Gather(one.data(), doubles, MPI_DOUBLE, all.data(), doubles, MPI_DOUBLE, n, comm), MPI_ERR_ROOT,
              "no such root");
  check_class(MPI_Scatter(all.data(), -1, MPI_DOUBLE, one.data(), -1, MPI_DOUBLE, 0, comm), MPI_ERR_COUNT,
              "a negative count");
  MPI_Comm_free(&comm);
}

CONTRACT_PROGRAM(roots) {
  Contract contract("roots", &argc, &argv);
  for (const unsigned seed : {1u, 2u}) everything_changes(seed, errors_are_fatal() ? 20 : 60);
  several_at_once();
  if (!errors_are_fatal()) too_long();
  return contract.finish();
}

}  // namespace gpu_roots_contract
