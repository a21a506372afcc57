// The blocking calls: Send and its kin, Recv, Sendrecv, Sendrecv_replace.
#include "peers.hpp"

namespace blocking_contract {

const MPI_Comm world = MPI_COMM_WORLD;

std::string title(const Mode& mode, const Sample& sample, int n) {
  return std::string(mode.name) + " of " + sample.name + ", n " + std::to_string(n);
}

// Posts the receive before the sender may send, for ready sends.
void receive(Region& r, const Mode& mode, int peer, int tag, MPI_Status* status, const std::string& what) {
  if (!mode.ready) {
    check_ok(MPI_Recv(r.address, r.count, r.type, peer, tag, world, status), what);
    return;
  }
  MPI_Request request;
  check_ok(MPI_Irecv(r.address, r.count, r.type, peer, tag, world, &request), what);
  give_token(peer);
  check_ok(MPI_Wait(&request, status), what);
}

void every_type(const Pair& p) {
  for (const Sample& sample : samples())
    for (int n : sizes()) {
      if (!p.active) continue;
      Region r(sample, n, n < 2000 ? 2 : 1);
      int round = 0;
      for (const Mode& mode : modes) {
        if (mode.buffered && !takes_bytes(sample, n)) continue;
        const std::string what = title(mode, sample, n);
        contract().section(what);
        const int tag = ++round;
        const Attached buffer(mode.buffered ? r.size() : 0);
        if (p.sends) {
          r.fill(seed_of(p.rank, round));
          if (mode.ready) take_token(p.peer);
          check_ok(mode.send(r.address, r.count, r.type, p.peer, tag, world), what);
        } else {
          r.fill(seed_of(p.peer, round));
          const Bytes expected = r.packed();
          r.poison();
          MPI_Status status = blank_status();
          receive(r, mode, p.peer, tag, &status, what);
          check_status(status, p.peer, tag, r, what);
          r.expect(expected, what);
        }
      }
    }
}

// One side strided, the other a plain run of bytes.
void strided_and_contiguous(const Pair& p) {
  for (const Sample& sample : samples())
    for (int n : sizes()) {
      if (!p.active || !takes_bytes(sample, n)) continue;
      Region r(sample, n);
      const std::string what = std::string(sample.name) + ", n " + std::to_string(n);
      contract().section("strided and contiguous: " + what);
      r.fill(seed_of(1, n));
      const Bytes expected = r.packed();
      Bytes bytes(expected.size() + 8, Region::kPoison);
      if (p.sends) {
        check_ok(MPI_Send(r.address, r.count, r.type, p.peer, 1, world), "strided to contiguous, " + what);
        check_ok(MPI_Send(expected.data(), r.size(), MPI_PACKED, p.peer, 2, world), "contiguous to strided, " + what);
      } else {
        MPI_Status status;
        check_ok(MPI_Recv(bytes.data(), r.size() + 8, MPI_PACKED, p.peer, 1, world, &status),
                 "strided to contiguous, " + what);
        int count;
        MPI_Get_count(&status, MPI_PACKED, &count);
        check_equal(count, r.size(), "strided to contiguous, " + what + ", count");
        bool same = std::equal(expected.begin(), expected.end(), bytes.begin());
        for (int i = 0; i < 8; ++i) same &= bytes[r.size() + i] == Region::kPoison;
        check(same, "strided to contiguous, " + what + ", bytes");
        r.poison();
        check_ok(MPI_Recv(r.address, r.count, r.type, p.peer, 2, world, MPI_STATUS_IGNORE),
                 "contiguous to strided, " + what);
        r.expect(expected, "contiguous to strided, " + what);
      }
    }
}

void different_types(const Pair& p) {
  for (const Sample& from : same_signature())
    for (const Sample& to : same_signature())
      for (int n : {3, 2000, 50000}) {
        if (!p.active) continue;
        const std::string what = std::string(from.name) + " to " + to.name + ", n " + std::to_string(n);
        contract().section(what);
        Region source(from, n);
        source.fill(seed_of(n, 3));
        if (p.sends) {
          check_ok(MPI_Send(source.address, source.count, source.type, p.peer, 1, world), what);
        } else {
          Region target(to, n);
          check_ok(MPI_Recv(target.address, target.count, target.type, p.peer, 1, world, MPI_STATUS_IGNORE), what);
          target.expect(source.packed(), what);
        }
      }
}

MPI_Datatype record() { return make::structure({1, 1}, {0, 8}, {MPI_INT, MPI_DOUBLE}); }

// A message shorter than the receive: `whole` records of {int, double} and perhaps one more int.
void shorter(const Pair& p) {
  for (int room : {8, 4000, 60000})
    for (int whole : {0, 1, room / 2 + 1, room - 2})
      for (int extra : {0, 1}) {
        if (!p.active) continue;
        const std::string what = "short message, " + std::to_string(whole) + " of " + std::to_string(room) +
                                 " records and " + std::to_string(extra) + " element";
        contract().section(what);
        const MPI_Datatype one = record();
        Region source(make::structure({whole, extra}, {0, 16 * whole}, {one, MPI_INT}), 1, "records");
        source.fill(seed_of(room, whole));
        if (p.sends) {
          check_ok(MPI_Send(source.address, source.count, source.type, p.peer, 1, world), what);
        } else {
          // The receive type holds two records, so that a count may end inside of an element too.
          Region target(make::vector(2, 1, 2, one), room / 2, "receiving records");
          MPI_Status status = blank_status();
          check_ok(MPI_Recv(target.address, target.count, target.type, p.peer, 1, world, &status), what);
          target.expect(source.packed(), what);
          int count, elements;
          MPI_Get_count(&status, target.type, &count);
          MPI_Get_elements(&status, target.type, &elements);
          const int expected = extra || whole % 2 ? MPI_UNDEFINED : whole / 2;
          check_equal(count, expected, what + ", Get_count");
          check_equal(elements, 2 * whole + extra, what + ", Get_elements");
          MPI_Count wide;
          MPI_Get_elements_x(&status, target.type, &wide);
          check_equal(wide, 2 * whole + extra, what + ", Get_elements_x");
        }
        MPI_Datatype mine = one;
        MPI_Type_free(&mine);
      }
}

// A message that does not fit: an error of its class, no byte outside of the type, and life goes
// on.
void truncated(const Pair& p) {
  const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
  const Sample dense = {"contiguous", [](int n) { return make::contiguous(n, MPI_DOUBLE); }};
  for (int n : {2, 500, 20000, 50000})
    for (const Sample& from : {strided, dense})
      for (const Sample& to : {strided, dense}) {
        if (!p.active) continue;
        const std::string what = std::string("truncated ") + from.name + " to " + to.name + ", n " + std::to_string(n);
        contract().section(what);
        Region long_one(from, n + 1), fitting(from, n), target(to, n);
        long_one.fill(1);
        fitting.fill(2);
        if (p.sends) {
          MPI_Send(long_one.address, 1, long_one.type, p.peer, 1, world);
          check_ok(MPI_Send(fitting.address, 1, fitting.type, p.peer, 1, world), what + ", the next");
        } else {
          MPI_Status status = blank_status();
          check_class(MPI_Recv(target.address, 1, target.type, p.peer, 1, world, &status), MPI_ERR_TRUNCATE, what);
          target.expect_gaps(what + ", nothing written elsewhere");
          check_equal(status.MPI_SOURCE, p.peer, what + ", status source");
          check_equal(status.MPI_TAG, 1, what + ", status tag");
          target.poison();
          check_ok(MPI_Recv(target.address, 1, target.type, p.peer, 1, world, &status), what + ", the next");
          target.expect(fitting.packed(), what + ", the next");
        }
      }
}

void null_and_zero(const Pair& p) {
  Region r({"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }}, 50, 2);
  MPI_Status status = blank_status();
  for (const Mode& mode : modes) {
    const Attached buffer(1000);
    check_ok(mode.send(r.address, r.count, r.type, MPI_PROC_NULL, 1, world), std::string(mode.name) + " to PROC_NULL");
  }
  check_ok(MPI_Recv(r.address, r.count, r.type, MPI_PROC_NULL, 1, world, &status), "Recv from PROC_NULL");
  int count = -1;
  MPI_Get_count(&status, r.type, &count);
  check(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0,
        "Recv from PROC_NULL, status");
  r.expect_untouched("Recv from PROC_NULL, buffer");
  check_ok(MPI_Sendrecv(r.address, 1, r.type, MPI_PROC_NULL, 1, r.address, 1, r.type, MPI_PROC_NULL, 1, world,
                        MPI_STATUS_IGNORE),
           "Sendrecv with PROC_NULL");
  r.expect_untouched("Sendrecv with PROC_NULL, buffer");
  check_ok(MPI_Sendrecv_replace(r.address, 1, r.type, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, world, MPI_STATUS_IGNORE),
           "Sendrecv_replace with PROC_NULL");
  r.expect_untouched("Sendrecv_replace with PROC_NULL, buffer");
  if (p.sends) {
    check_ok(MPI_Send(r.address, 0, r.type, p.peer, 1, world), "zero count");
    check_ok(MPI_Send(nullptr, 0, r.type, p.peer, 1, world), "zero count without a buffer");
  }
  if (p.receives) {
    for (int posted : {2, 0}) {
      status = blank_status();
      check_ok(MPI_Recv(r.address, posted, r.type, p.peer, 1, world, &status), "zero count");
      MPI_Get_count(&status, r.type, &count);
      check_equal(count, 0, "zero count, Get_count");
      check_equal(status.MPI_SOURCE, p.peer, "zero count, status source");
      r.expect_untouched("zero count, buffer");
    }
  }
}

// Rank 0 receives from everyone as it comes.
void wildcards() {
  const Contract& c = contract();
  const Sample sample = every_other_double();
  for (int n : {10, 20000}) {
    contract().section("wildcards");
    MPI_Barrier(world);
    Region r(sample, n);
    if (c.rank) {
      for (int i = 0; i < 5; ++i) {
        r.fill(seed_of(c.rank, i));
        check_ok(MPI_Send(r.address, r.count, r.type, 0, 10 * c.rank + i, world), "wildcards");
      }
      continue;
    }
    Ints next(c.ranks, 0);
    for (int i = 0; i < 5 * (c.ranks - 1); ++i) {
      MPI_Status status = blank_status();
      r.poison();
      check_ok(MPI_Recv(r.address, r.count, r.type, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status), "wildcards");
      const int from = status.MPI_SOURCE;
      check(from > 0 && from < c.ranks, "wildcards, source");
      if (from <= 0 || from >= c.ranks) continue;
      check_status(status, from, 10 * from + next[from], r, "wildcards, order of one source");
      Region expected(sample, n);
      expected.fill(seed_of(from, next[from]++));
      r.expect(expected.packed(), "wildcards, bytes");
    }
  }
}

// Many messages with one tag, strided and contiguous by turns and not alike on both sides.
void order(const Pair& p) {
  if (!p.active) return;
  for (int n : {4, 3000}) {
    contract().section("order");
    for (int i = 0; i < 60; ++i) {
      const Sample& from = same_signature()[i % same_signature().size()];
      const Sample& to = same_signature()[i * 7 / 3 % same_signature().size()];
      Region source(from, n);
      source.fill(seed_of(n, i));
      if (p.sends) {
        check_ok(MPI_Send(source.address, source.count, source.type, p.peer, 1, world), "order");
      } else {
        Region target(to, n);
        check_ok(MPI_Recv(target.address, target.count, target.type, p.peer, 1, world, MPI_STATUS_IGNORE), "order");
        target.expect(source.packed(), "order, bytes");
      }
    }
  }
}

// Around a ring, with the neighbour, and with oneself; a different type on each side.
void sendrecv() {
  const Contract& c = contract();
  struct Partners {
    const char* name;
    int to, from;
    MPI_Comm comm;
  };
  const Partners all[] = {{"ring", (c.rank + 1) % c.ranks, (c.rank + c.ranks - 1) % c.ranks, world},
                          {"self", c.rank, c.rank, world},
                          {"MPI_COMM_SELF", 0, 0, MPI_COMM_SELF}};
  for (const Partners& who : all)
    for (const Sample& from : same_signature())
      for (int n : {3, 2000, 50000}) {
        const Sample& to = same_signature()[(&from - &same_signature()[0] + 2) % same_signature().size()];
        const std::string what =
            std::string("Sendrecv, ") + who.name + ", " + from.name + " to " + to.name + ", n " + std::to_string(n);
        contract().section(what);
        const int sender = who.comm == world ? who.from : c.rank;
        Region source(from, n), target(to, n), sent(from, n);
        source.fill(seed_of(c.rank, n));
        sent.fill(seed_of(sender, n));
        MPI_Status status = blank_status();
        check_ok(MPI_Sendrecv(source.address, source.count, source.type, who.to, 5, target.address, target.count,
                              target.type, who.from, MPI_ANY_TAG, who.comm, &status),
                 what);
        check_status(status, who.from, 5, target, what);
        target.expect(sent.packed(), what);
      }
}

void sendrecv_replace() {
  const Contract& c = contract();
  const int right = (c.rank + 1) % c.ranks, left = (c.rank + c.ranks - 1) % c.ranks;
  for (const Sample& sample : samples())
    for (int n : {2, 1100, 60000})
      for (bool self : {false, true}) {
        if (!takes_bytes(sample, n)) continue;
        const int to = self ? c.rank : right, from = self ? c.rank : left;
        const std::string what =
            std::string("Sendrecv_replace, ") + (self ? "self, " : "ring, ") + sample.name + ", n " + std::to_string(n);
        contract().section(what);
        Region r(sample, n);
        r.fill(seed_of(from, n));
        const Bytes expected = r.packed();
        // Own bytes inside of the type, poison elsewhere.
        r.fill(seed_of(c.rank, n));
        const Bytes mine = r.packed();
        r.poison();
        if (r.quirky()) continue;
        oracle_unpack(r.map(), mine, r.origin());
        MPI_Status status = blank_status();
        check_ok(MPI_Sendrecv_replace(r.address, r.count, r.type, to, 6, from, 6, world, &status), what);
        check_status(status, from, 6, r, what);
        r.expect(expected, what);
      }
}

// What the MPI refuses without Dunnage it refuses with it.
void errors() {
  contract().section("errors");
  const int outside = contract().ranks + 3;
  Region r({"vector", [](int n) { return make::vector(n, 1, 2, MPI_INT); }}, 20);
  MPI_Datatype raw = make::vector(3, 1, 2, MPI_INT);
  auto cls = [](int code) {
    int result = MPI_SUCCESS;
    if (code != MPI_SUCCESS) PMPI_Error_class(code, &result);
    return result;
  };
  auto send = [&](const char* what, int count, MPI_Datatype type, int to, int tag) {
    check_class(MPI_Send(r.address, count, type, to, tag, world),
                cls(PMPI_Send(r.address, count, type, to, tag, world)), what);
  };
  send("send to a rank that does not exist", 1, r.type, outside, 1);
  send("send with a negative tag", 1, r.type, 0, -5);
  send("send of a negative count", -1, r.type, 0, 1);
  send("send of an uncommitted type", 1, raw, MPI_PROC_NULL, 1);
  send("send of a null type", 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1);
  check_class(MPI_Recv(r.address, 1, r.type, outside, 1, world, MPI_STATUS_IGNORE),
              cls(PMPI_Recv(r.address, 1, r.type, outside, 1, world, MPI_STATUS_IGNORE)),
              "receive from a rank that does not exist");
  check_class(MPI_Send(r.address, 1, r.type, 0, 1, MPI_COMM_NULL),
              cls(PMPI_Send(r.address, 1, r.type, 0, 1, MPI_COMM_NULL)), "send on a null communicator");
  MPI_Type_free(&raw);
}

#if MPI_VERSION >= 4
void large_count(const Pair& p) {
  contract().section("large count");
  for (int n : {5, 100000}) {
    Region r(every_other_double(), n), back(every_other_double(), n);
    r.fill(seed_of(0, n));
    MPI_Status status = blank_status();
    const std::string what = "large-count forms, n " + std::to_string(n);
    if (p.sends) check_ok(MPI_Send_c(r.address, 1, r.type, p.peer, 1, world), what);
    if (p.receives) {
      check_ok(MPI_Recv_c(back.address, 1, back.type, p.peer, 1, world, &status), what);
      check_status(status, p.peer, 1, back, what);
      back.expect(r.packed(), what);
    }
    back.poison();
    check_ok(MPI_Sendrecv_c(r.address, 1, r.type, contract().rank, 2, back.address, 1, back.type, contract().rank, 2,
                            world, &status),
             what + ", Sendrecv_c");
    back.expect(r.packed(), what + ", Sendrecv_c");
  }
}
#endif

CONTRACT_PROGRAM(blocking) {
  Contract c("blocking", &argc, &argv);
  const Pair p;
  every_type(p);
  strided_and_contiguous(p);
  different_types(p);
  shorter(p);
  truncated(p);
  null_and_zero(p);
  MPI_Barrier(world);
  wildcards();
  MPI_Barrier(world);
  order(p);
  sendrecv();
  sendrecv_replace();
  MPI_Barrier(world);
  errors();
#if MPI_VERSION >= 4
  large_count(p);
#endif
  return c.finish();
}

}  // namespace blocking_contract
