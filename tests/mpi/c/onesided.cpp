// One-sided calls with datatypes that are not contiguous on either side, in every kind of epoch.

#include "surface.hpp"

namespace onesided_contract {

constexpr auto put = FUNCTION(MPI_Put);
constexpr auto get = FUNCTION(MPI_Get);
constexpr auto accumulate = FUNCTION(MPI_Accumulate);
constexpr auto get_accumulate = FUNCTION(MPI_Get_accumulate);
constexpr auto fetch_and_op = FUNCTION(MPI_Fetch_and_op);
constexpr auto compare_and_swap = FUNCTION(MPI_Compare_and_swap);
constexpr auto rput = FUNCTION(MPI_Rput);
constexpr auto rget = FUNCTION(MPI_Rget);
constexpr auto raccumulate = FUNCTION(MPI_Raccumulate);
constexpr auto rget_accumulate = FUNCTION(MPI_Rget_accumulate);
constexpr auto put_large = FUNCTION(MPI_Put_c);
constexpr auto get_large = FUNCTION(MPI_Get_c);
constexpr auto accumulate_large = FUNCTION(MPI_Accumulate_c);
constexpr auto get_accumulate_large = FUNCTION(MPI_Get_accumulate_c);
constexpr auto rput_large = FUNCTION(MPI_Rput_c);
constexpr auto rget_large = FUNCTION(MPI_Rget_c);
constexpr auto raccumulate_large = FUNCTION(MPI_Raccumulate_c);
constexpr auto rget_accumulate_large = FUNCTION(MPI_Rget_accumulate_c);

constexpr int kUnit = 4;  // bytes of the window's displacement unit

// The ways to open and close an epoch in which everyone reaches everyone.
enum class Epoch { fence, post, lock, lock_all };
const char* name_of(Epoch e) {
  const char* const names[] = {"fence", "post and start", "lock", "lock_all and flush"};
  return names[int(e)];
}

// A ring: I reach into my target, and my source reaches into me.
struct Ring {
  int me = contract().rank, ranks = contract().ranks;
  int target = (me + 1) % ranks, source = (me + ranks - 1) % ranks;
};

void open(Epoch epoch, MPI_Win win, const Ring& ring) {
  if (epoch == Epoch::fence) {
    MPI_Win_fence(0, win);
  } else if (epoch == Epoch::post) {
    MPI_Group all, mine, other;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &ring.source, &other);
    MPI_Group_incl(all, 1, &ring.target, &mine);
    MPI_Win_post(other, 0, win);
    MPI_Win_start(mine, 0, win);
    for (MPI_Group* g : {&all, &mine, &other}) MPI_Group_free(g);
  } else {
    PMPI_Barrier(MPI_COMM_WORLD);  // the target's memory is ready
    epoch == Epoch::lock ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ring.target, 0, win) : MPI_Win_lock_all(0, win);
  }
}

void close(Epoch epoch, MPI_Win win, const Ring& ring) {
  if (epoch == Epoch::fence) {
    MPI_Win_fence(0, win);
  } else if (epoch == Epoch::post) {
    MPI_Win_complete(win);
    MPI_Win_wait(win);
  } else {
    if (epoch == Epoch::lock) {
      MPI_Win_unlock(ring.target, win);
    } else {
      MPI_Win_flush(ring.target, win);
      MPI_Win_unlock_all(win);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    // What others put is looked at under a lock of one's own.
    MPI_Win_lock(MPI_LOCK_SHARED, ring.me, 0, win);
    MPI_Win_unlock(ring.me, win);
  }
}

Bytes sum(const Bytes& a, const Bytes& b) {
  Bytes out(a.size());
  for (std::size_t i = 0; i + 8 <= a.size(); i += 8) {
    unsigned long long x, y;
    std::memcpy(&x, a.data() + i, 8);
    std::memcpy(&y, b.data() + i, 8);
    x += y;
    std::memcpy(out.data() + i, &x, 8);
  }
  return out;
}

// n numbers of 8 bytes, in four ways.
const char* const layout_names[] = {"a vector", "falling blocks", "a column", "wide numbers"};
Type layout(int which, int n) {
  using namespace make;
  const MPI_Datatype number = MPI_UINT64_T;
  switch (which % 4) {
    case 0: return Type(vector(n, 1, 3, number));
    case 1: {
      Ints disps;
      for (int i = 0; i < n; ++i) disps.push_back(2 * (n - i) + i % 2);
      return Type(indexed_block(1, disps, number));
    }
    case 2: return Type(subarray({n, 3}, {n, 1}, {0, 2}, MPI_ORDER_C, number));
    default: return Type(owned(resized(0, 16, number), [n](MPI_Datatype t) { return contiguous(n, t); }));
  }
}

// Does one thing of each kind to the target, in one epoch each, and looks at both sides.
void reach(Epoch epoch, int n, int which) {
  const Ring ring;
  const std::string where =
      std::string(name_of(epoch)) + ", n " + std::to_string(n) + ", to " + layout_names[(which + 1) % 4];
  // My own types in `mine`, `result`; that of the target's memory, the same on all ranks, in
  // `there`.
  const Type mine = layout(which + ring.me, n), there = layout(which + 1, n), result = layout(which + 2, n);
  const MPI_Datatype m = mine, t = there, r = result;
  const std::size_t bytes = std::size_t(n) * 8;
  Buffer window(t, 1, true), origin(m, 1), got(r, 1);
  constexpr MPI_Aint kBefore = 16;  // in the window, before the type's data begins
  MPI_Win win;
  const Bounds reach = bounds_of(window.map());
  MPI_Win_create(window.origin() - kBefore, reach.end + kBefore + 32, kUnit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const MPI_Aint at = kBefore / kUnit;
  void* const from = origin.address();
  void* const into = got.address();
  int round = 10 * which;

  enum Outcome { replaced, added, kept };
  // `call` is what is tested; `fetches`: the former content comes back into `got`.
  const auto attempt = [&](const auto& function, Outcome outcome, bool fetches, auto... arguments) {
    using F = std::decay_t<decltype(function)>;
    constexpr bool takes = F::template takes<decltype(arguments)..., MPI_Win>;
    constexpr bool takes_request = F::template takes<decltype(arguments)..., MPI_Win, MPI_Request*>;
    static_assert(!kMpi4 || takes || takes_request);
    const char* const outcomes[] = {", replace, ", ", sum, ", ", no change, "};
    const std::string label = std::string(function.name) + outcomes[outcome] + where;
    const bool request_form = takes_request;
    if (!(takes || takes_request) || !is_wanted(function.name) || avoided(label)) return;
    // Requests are for the epochs of a passive target.
    if (request_form && (epoch == Epoch::fence || epoch == Epoch::post)) return;
    contract().section(label);
    ++round;
    const Bytes old = data(ring.me, -1, round, bytes), theirs = data(ring.target, -1, round, bytes);
    const Bytes given = data(ring.source, ring.me, round, bytes), giving = data(ring.me, ring.target, round, bytes);
    window.put(old);
    origin.put(giving);
    got.poison();
    open(epoch, win, ring);
    if constexpr (takes_request) {
      MPI_Request request = MPI_REQUEST_NULL;
      check_ok(function(arguments..., win, &request), label);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), label + ", Wait");
      if (fetches) got.expect(theirs, label + ", fetched when its request was complete");
    } else if constexpr (takes) {
      check_ok(function(arguments..., win), label);
    }
    close(epoch, win, ring);
    window.expect(outcome == replaced ? given : outcome == added ? sum(old, given) : old, label + ", the window");
    fetches ? got.expect(theirs, label + ", fetched") : got.expect_untouched(label + ", nothing fetched");
    origin.expect(giving, label + ", the origin");
    PMPI_Barrier(MPI_COMM_WORLD);
  };
  const int there_is = ring.target;
  static_assert(
      std::decay_t<decltype(put)>::takes<void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win>);
  attempt(put, replaced, false, from, 1, m, there_is, at, 1, t);
  attempt(get, kept, true, into, 1, r, there_is, at, 1, t);
  attempt(accumulate, added, false, from, 1, m, there_is, at, 1, t, MPI_SUM);
  attempt(accumulate, replaced, false, from, 1, m, there_is, at, 1, t, MPI_REPLACE);
  attempt(get_accumulate, added, true, from, 1, m, into, 1, r, there_is, at, 1, t, MPI_SUM);
  attempt(get_accumulate, kept, true, nullptr, 0, MPI_Datatype(MPI_UINT64_T), into, 1, r, there_is, at, 1, t,
          MPI_NO_OP);
  attempt(rput, replaced, false, from, 1, m, there_is, at, 1, t);
  attempt(rget, kept, true, into, 1, r, there_is, at, 1, t);
  attempt(raccumulate, added, false, from, 1, m, there_is, at, 1, t, MPI_SUM);
  attempt(rget_accumulate, replaced, true, from, 1, m, into, 1, r, there_is, at, 1, t, MPI_REPLACE);
  attempt(put_large, replaced, false, from, 1, m, there_is, at, 1, t);
  attempt(get_large, kept, true, into, 1, r, there_is, at, 1, t);
  attempt(accumulate_large, added, false, from, 1, m, there_is, at, 1, t, MPI_SUM);
  attempt(get_accumulate_large, added, true, from, 1, m, into, 1, r, there_is, at, 1, t, MPI_SUM);
  attempt(rput_large, replaced, false, from, 1, m, there_is, at, 1, t);
  attempt(rget_large, kept, true, into, 1, r, there_is, at, 1, t);
  attempt(raccumulate_large, added, false, from, 1, m, there_is, at, 1, t, MPI_SUM);
  attempt(rget_accumulate_large, replaced, true, from, 1, m, into, 1, r, there_is, at, 1, t, MPI_REPLACE);
  MPI_Win_free(&win);
}

// One number.
struct Number {
  Buffer buffer{MPI_LONG_LONG, 1};
  explicit Number(long long value) { set(value); }
  void set(long long value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    buffer.put(bytes);
  }
  long long get() {
    long long value;
    std::memcpy(&value, buffer.packed().data(), sizeof value);
    return value;
  }
  void* at() { return buffer.address(); }
};

// The calls that take one predefined element.
void single(Epoch epoch) {
  const Ring ring;
  const std::string where = name_of(epoch);
  long long memory[3] = {-1, 0, -1};
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const auto attempt = [&](const std::string& label, long long old, long long expected, auto call) {
    contract().section(label);
    memory[1] = old + ring.me;
    Number result(-5);
    open(epoch, win, ring);
    check_ok(call(result.at()), label);
    close(epoch, win, ring);
    check_equal(result.get(), old + ring.target, label + ", fetched");
    check_equal(memory[1], expected, label + ", the window");
    check(memory[0] == -1 && memory[2] == -1, label + ", the window around it");
    PMPI_Barrier(MPI_COMM_WORLD);
  };
  Number mine(1000 + ring.me);
  attempt("MPI_Fetch_and_op, " + where, 50, 50 + ring.me + 1000 + ring.source, [&](void* result) {
    return fetch_and_op(mine.at(), result, MPI_LONG_LONG, ring.target, MPI_Aint(1), MPI_SUM, win);
  });
  Number same(60 + ring.target), other(7);
  attempt("MPI_Compare_and_swap, " + where, 60, 1000 + ring.source, [&](void* result) {
    return compare_and_swap(mine.at(), same.at(), result, MPI_LONG_LONG, ring.target, MPI_Aint(1), win);
  });
  attempt("MPI_Compare_and_swap of another value, " + where, 60, 60 + ring.me, [&](void* result) {
    return compare_and_swap(mine.at(), other.at(), result, MPI_LONG_LONG, ring.target, MPI_Aint(1), win);
  });
  MPI_Win_free(&win);
}

CONTRACT_PROGRAM(onesided) {
  Contract contract("onesided", &argc, &argv);
  wanted().insert(argv + 1, argv + argc);
  for (Epoch epoch : {Epoch::fence, Epoch::post, Epoch::lock, Epoch::lock_all}) {
    if (brief()) {
      reach(epoch, 300, 3);
    } else {
      for (int n : {2, 900})
        for (int which = 0; which < 4; ++which) reach(epoch, n, which);
    }
    single(epoch);
  }
  say_called();
  return contract.finish();
}

}  // namespace onesided_contract
