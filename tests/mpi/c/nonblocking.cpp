// The non-blocking calls and everything that completes them.
#include <chrono>
#include <list>

#include "peers.hpp"

namespace nonblocking_contract {

const MPI_Comm world = MPI_COMM_WORLD;

const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
const Sample dense = {"contiguous", [](int n) { return make::contiguous(n, MPI_DOUBLE); }};
const Sample scattered = {"indexed", [](int n) { return irregular(n, false); }};

int isend(const Region& r, int to, int tag, MPI_Request* request) {
  return MPI_Isend(r.address, r.count, r.type, to, tag, world, request);
}
int irecv(const Region& r, int from, int tag, MPI_Request* request) {
  return MPI_Irecv(r.address, r.count, r.type, from, tag, world, request);
}

void every_type(const Pair& p) {
  for (const Sample& sample : samples())
    for (int n : sizes()) {
      if (!p.active) continue;
      Region r(sample, n, n < 2000 ? 2 : 1);
      int round = 0;
      for (const Mode& mode : modes) {
        if (mode.buffered && !takes_bytes(sample, n)) continue;
        const std::string what = std::string("I-") + mode.name + " of " + sample.name + ", n " + std::to_string(n);
        contract().section(what);
        const int tag = ++round;
        MPI_Request request;
        const Attached buffer(mode.buffered ? r.size() : 0);
        if (p.sends) {
          r.fill(seed_of(p.rank, round));
          take_token(p.peer);
          check_ok(mode.isend(r.address, r.count, r.type, p.peer, tag, world, &request), what);
          check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
          r.fill(99);  // the send is over: the buffer is ours again
        } else {
          r.fill(seed_of(p.peer, round));
          const Bytes expected = r.packed();
          r.poison();
          check_ok(irecv(r, p.peer, tag, &request), what);
          give_token(p.peer);
          MPI_Status status = blank_status();
          check_ok(MPI_Wait(&request, &status), what);
          check(request == MPI_REQUEST_NULL, what + ", request null");
          check_status(status, p.peer, tag, r, what);
          r.expect(expected, what);
        }
      }
    }
}

// A mixed array: what a rank may have pending at one time.
struct Mixed {
  static constexpr int kNull = 0, kDense = 1, kStrided = 2, kInactive = 3, kSend = 4, kScattered = 5, kSendDense = 6;
  std::vector<MPI_Request> request = std::vector<MPI_Request>(7, MPI_REQUEST_NULL);
  Region dense_in, strided_in, scattered_in, out, out_dense, out_scattered, parked;
  int peer, n;
  MPI_Request own;

  Mixed(int peer_, int n_)
      : dense_in(dense, n_),
        strided_in(strided, n_, 2),
        scattered_in(scattered, n_),
        out(strided, n_, 2),
        out_dense(dense, n_),
        out_scattered(scattered, n_),
        parked(strided, n_),
        peer(peer_),
        n(n_) {
    const int me = contract().rank;
    out.fill(seed_of(me, 1));
    out_dense.fill(seed_of(me, 2));
    out_scattered.fill(seed_of(me, 3));
    irecv(dense_in, peer, 12, &request[kDense]);
    irecv(strided_in, MPI_ANY_SOURCE, 11, &request[kStrided]);
    irecv(scattered_in, peer, 13, &request[kScattered]);
    MPI_Recv_init(parked.address, parked.count, parked.type, peer, 77, world, &request[kInactive]);
    isend(out, peer, 11, &request[kSend]);
    isend(out_dense, peer, 12, &request[kSendDense]);
    isend(out_scattered, peer, 13, &own);
  }

  void verify(const std::string& what) {
    check_ok(MPI_Wait(&own, MPI_STATUS_IGNORE), what);
    out.fill(seed_of(peer, 1));
    out_dense.fill(seed_of(peer, 2));
    out_scattered.fill(seed_of(peer, 3));
    strided_in.expect(out.packed(), what + ", strided");
    dense_in.expect(out_dense.packed(), what + ", contiguous");
    scattered_in.expect(out_scattered.packed(), what + ", scattered");
    parked.expect_untouched(what + ", inactive");
    for (int i = 0; i < int(request.size()); ++i)
      check((request[i] == MPI_REQUEST_NULL) == (i != kInactive), what + ", which requests are null");
    MPI_Request_free(&request[kInactive]);
  }

  void check_one(int i, const MPI_Status& s, const std::string& what) {
    if (i == kDense) check_status(s, peer, 12, dense_in, what + ", contiguous");
    if (i == kStrided) check_status(s, peer, 11, strided_in, what + ", strided");
    if (i == kScattered) check_status(s, peer, 13, scattered_in, what + ", scattered");
    if (i == kNull || i == kInactive) check_empty(s, what);
  }
};

using Complete = void (*)(Mixed&, const std::string&);

std::vector<MPI_Status> blanks(std::size_t n) { return std::vector<MPI_Status>(n, blank_status()); }

const std::pair<const char*, Complete> completions[] = {
    {"Waitall",
     [](Mixed& m, const std::string& what) {
       auto status = blanks(7);
       check_ok(MPI_Waitall(7, m.request.data(), status.data()), what);
       for (int i = 0; i < 7; ++i) m.check_one(i, status[i], what);
     }},
    {"Waitall without statuses",
     [](Mixed& m, const std::string& what) { check_ok(MPI_Waitall(7, m.request.data(), MPI_STATUSES_IGNORE), what); }},
    {"Wait on each, last first",
     [](Mixed& m, const std::string& what) {
       for (int i = 6; i >= 0; --i) {
         MPI_Status s = blank_status();
         check_ok(MPI_Wait(&m.request[i], &s), what);
         m.check_one(i, s, what);
       }
     }},
    {"Waitany",
     [](Mixed& m, const std::string& what) {
       Ints seen(7, 0);
       for (int k = 0;; ++k) {
         int index = -7;
         MPI_Status s = blank_status();
         check_ok(MPI_Waitany(7, m.request.data(), &index, &s), what);
         if (index == MPI_UNDEFINED) {
           check_equal(k, 5, what + ", how many completed");
           check_empty(s, what + ", none left");
           break;
         }
         check(index >= 0 && index < 7 && !seen[index], what + ", index");
         seen[index] = 1;
         m.check_one(index, s, what);
       }
     }},
    {"Waitsome",
     [](Mixed& m, const std::string& what) {
       for (int total = 0;;) {
         int n = -7, index[7];
         auto status = blanks(7);
         check_ok(MPI_Waitsome(7, m.request.data(), &n, index, status.data()), what);
         if (n == MPI_UNDEFINED) {
           check_equal(total, 5, what + ", how many completed");
           break;
         }
         check(n > 0, what + ", at least one");
         for (int i = 0; i < n; ++i) m.check_one(index[i], status[i], what);
         total += n;
       }
     }},
    {"Waitsome without statuses",
     [](Mixed& m, const std::string& what) {
       int n = 0, index[7];
       while (n != MPI_UNDEFINED) check_ok(MPI_Waitsome(7, m.request.data(), &n, index, MPI_STATUSES_IGNORE), what);
     }},
    {"Test on each",
     [](Mixed& m, const std::string& what) {
       for (int i = 0; i < 7; ++i)
         for (int flag = 0; !flag;) {
           MPI_Status s = blank_status();
           check_ok(MPI_Test(&m.request[i], &flag, &s), what);
           if (flag) m.check_one(i, s, what);
         }
     }},
    {"Testall",
     [](Mixed& m, const std::string& what) {
       auto status = blanks(7);
       for (int flag = 0; !flag;) check_ok(MPI_Testall(7, m.request.data(), &flag, status.data()), what);
       for (int i = 0; i < 7; ++i) m.check_one(i, status[i], what);
     }},
    {"Testall without statuses",
     [](Mixed& m, const std::string& what) {
       for (int flag = 0; !flag;) check_ok(MPI_Testall(7, m.request.data(), &flag, MPI_STATUSES_IGNORE), what);
     }},
    {"Testany",
     [](Mixed& m, const std::string& what) {
       for (int total = 0;;) {
         int flag = 0, index = -7;
         MPI_Status s = blank_status();
         check_ok(MPI_Testany(7, m.request.data(), &index, &flag, &s), what);
         if (!flag) continue;
         if (index == MPI_UNDEFINED) {
           check_equal(total, 5, what + ", how many completed");
           check_empty(s, what + ", none left");
           break;
         }
         m.check_one(index, s, what);
         ++total;
       }
     }},
    {"Testsome",
     [](Mixed& m, const std::string& what) {
       for (int total = 0;;) {
         int n = -7, index[7];
         auto status = blanks(7);
         check_ok(MPI_Testsome(7, m.request.data(), &n, index, status.data()), what);
         if (n == MPI_UNDEFINED) {
           check_equal(total, 5, what + ", how many completed");
           break;
         }
         for (int i = 0; i < n; ++i) m.check_one(index[i], status[i], what);
         total += n;
       }
     }},
    {"Request_get_status, then Wait",
     [](Mixed& m, const std::string& what) {
       for (int i = 0; i < 7; ++i) {
         MPI_Status s = blank_status();
         for (int flag = 0; !flag;) check_ok(MPI_Request_get_status(m.request[i], &flag, &s), what);
         m.check_one(i, s, what + ", first");
         if (i == Mixed::kStrided) {  // completed, though not yet freed: the data must be there
           Region sent(strided, m.n, 2);
           sent.fill(seed_of(m.peer, 1));
           m.strided_in.expect(sent.packed(), what + ", before the wait");
         }
         s = blank_status();
         check_ok(MPI_Wait(&m.request[i], &s), what);
         m.check_one(i, s, what + ", then");
       }
     }},
};

void completion(const Pair& p) {
  for (int n : {3, 700, 40000})
    for (const auto& [name, complete] : completions) {
      if (!p.active) continue;
      const std::string what = std::string(name) + ", n " + std::to_string(n);
      contract().section(what);
      Mixed mixed(p.peer, n);
      complete(mixed, what);
      mixed.verify(what);
    }
}

void nothing_to_complete() {
  contract().section("nothing to complete");
  MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  auto status = blanks(3);
  int index = -7, flag = 0, n = -7, list[3];
  check_ok(MPI_Wait(&none[0], &status[0]), "Wait on a null request");
  check_empty(status[0], "Wait on a null request");
  status[0] = blank_status();
  check_ok(MPI_Test(&none[0], &flag, &status[0]), "Test on a null request");
  check(flag, "Test on a null request, flag");
  check_empty(status[0], "Test on a null request");
  check_ok(MPI_Waitall(3, none, status.data()), "Waitall on null requests");
  for (const auto& s : status) check_empty(s, "Waitall on null requests");
  check_ok(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), "Waitall on nothing");
  check_ok(MPI_Waitany(3, none, &index, &status[0]), "Waitany on null requests");
  check_equal(index, MPI_UNDEFINED, "Waitany on null requests, index");
  index = -7, flag = 0;
  check_ok(MPI_Testany(3, none, &index, &flag, &status[0]), "Testany on null requests");
  check(flag && index == MPI_UNDEFINED, "Testany on null requests, flag and index");
  flag = 0;
  check_ok(MPI_Testall(3, none, &flag, status.data()), "Testall on null requests");
  check(flag, "Testall on null requests, flag");
  check_ok(MPI_Waitsome(3, none, &n, list, status.data()), "Waitsome on null requests");
  check_equal(n, MPI_UNDEFINED, "Waitsome on null requests, count");
  n = -7;
  check_ok(MPI_Testsome(3, none, &n, list, status.data()), "Testsome on null requests");
  check_equal(n, MPI_UNDEFINED, "Testsome on null requests, count");

  Region r(strided, 20);
  MPI_Request request;
  status[0] = blank_status();
  check_ok(irecv(r, MPI_PROC_NULL, 1, &request), "Irecv from PROC_NULL");
  check_ok(MPI_Wait(&request, &status[0]), "Irecv from PROC_NULL");
  int count = -1;
  MPI_Get_count(&status[0], r.type, &count);
  check(status[0].MPI_SOURCE == MPI_PROC_NULL && status[0].MPI_TAG == MPI_ANY_TAG && count == 0,
        "Irecv from PROC_NULL, status");
  r.expect_untouched("Irecv from PROC_NULL, buffer");
  for (const Mode& mode : modes) {
    check_ok(mode.isend(r.address, r.count, r.type, MPI_PROC_NULL, 1, world, &request), "Isend to PROC_NULL");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "Isend to PROC_NULL");
  }
}

// Waits, by calling into the MPI, for memory to change; an operation without a request ends that
// way.
bool arrives(const Region& r, const Bytes& expected) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 31000, world, &flag, MPI_STATUS_IGNORE);
    bool same = true;
    std::size_t at = 0;
    for (const Piece& piece : r.map())
      for (MPI_Aint i = 0; i < piece.size; ++i)
        same &= static_cast<const volatile unsigned char*>(r.address)[piece.disp + i] == expected[at++];
    if (same) return true;
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(5)) return false;
  }
}

void freed_requests(const Pair& p) {
  for (const Sample& sample : {strided, scattered})
    for (int n : {3, 700, 40000}) {
      if (!p.active) continue;
      contract().section("freed requests");
      const std::string what = std::string(sample.name) + ", n " + std::to_string(n);
      Region out(sample, n), in(sample, n), theirs(sample, n);
      out.fill(seed_of(p.rank, n));
      theirs.fill(seed_of(p.peer, n));
      MPI_Request request;
      check_ok(irecv(in, p.peer, 1, &request), "freed receive of " + what);
      check_ok(MPI_Request_free(&request), "freed receive of " + what);
      check(request == MPI_REQUEST_NULL, "freed receive of " + what + ", request null");
      check_ok(isend(out, p.peer, 1, &request), "freed send of " + what);
      check_ok(MPI_Request_free(&request), "freed send of " + what);
      check(request == MPI_REQUEST_NULL, "freed send of " + what + ", request null");
      const Bytes expected = theirs.packed();
      const bool came = arrives(in, expected);
      check(came, "freed receive of " + what + ", the data comes");
      if (came) in.expect(expected, "freed receive of " + what);
      // The partner has everything: only now may the send buffer go.
      give_token(p.peer);
      take_token(p.peer);
    }
}

void cancelled(const Pair& p) {
  for (int n : {3, 40000}) {
    if (!p.active) continue;
    contract().section("cancel");
    const std::string what = "cancelled receive, n " + std::to_string(n);
    Region never(strided, n), next(strided, n), out(strided, n);
    MPI_Request request;
    MPI_Status status = blank_status();
    int flag = 0;
    irecv(never, p.peer, 5, &request);
    check_ok(MPI_Cancel(&request), what);
    check_ok(MPI_Wait(&request, &status), what);
    check_ok(MPI_Test_cancelled(&status, &flag), what);
    check(flag, what + ", is cancelled");
    check(request == MPI_REQUEST_NULL, what + ", request null");
    never.expect_untouched(what + ", buffer");
    // Both receives are gone before either message is sent.
    give_token(p.peer);
    take_token(p.peer);
    out.fill(seed_of(p.rank, n));
    MPI_Request send;
    isend(out, p.peer, 5, &send);
    status = blank_status();
    check_ok(MPI_Recv(next.address, 1, next.type, p.peer, 5, world, &status), what + ", the next");
    check_ok(MPI_Test_cancelled(&status, &flag), what + ", the next");
    check(!flag, what + ", the next is not cancelled");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    out.fill(seed_of(p.peer, n));
    next.expect(out.packed(), what + ", the next");
    never.expect_untouched(what + ", buffer at the end");
  }
}

// A type goes while its operation is pending, and another comes with, perhaps, the same handle.
void freed_types(const Pair& p) {
  for (int n : {3, 700, 40000})
    for (bool replaced : {false, true}) {
      if (!p.active) continue;
      contract().section("freed types");
      const std::string what = std::string(replaced ? "type freed and another made" : "type freed") +
                               " while pending, n " + std::to_string(n);
      Region out(strided, n), in(strided, n), model(strided, n);
      MPI_Request request[2];
      out.fill(seed_of(p.rank, n));
      check_ok(irecv(in, p.peer, 1, &request[0]), what);
      MPI_Type_free(&in.type);
      std::list<Region> others;
      if (replaced)
        for (int i = 0; i < 4; ++i) others.emplace_back(make::vector(n, 2, 3, MPI_INT), 1, "another");
      give_token(p.peer);
      take_token(p.peer);
      check_ok(isend(out, p.peer, 1, &request[1]), what);
      MPI_Type_free(&out.type);
      if (replaced)
        for (int i = 0; i < 4; ++i) others.emplace_back(make::vector(n, 1, 5, MPI_FLOAT), 1, "another");
      check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), what);
      model.fill(seed_of(p.peer, n));
      in.expect(model.packed(), what);
    }
}

// A thousand messages each way, every one an element of an array of strided things.
void many(const Pair& p) {
  constexpr int kMany = 500;
  for (const int n : {20, 200}) {
    if (!p.active) continue;
    contract().section("many outstanding");
    Region in[] = {{strided, n, kMany}, {scattered, n, kMany}}, out[] = {{strided, n, kMany}, {scattered, n, kMany}};
    std::vector<MPI_Request> request;
    for (Region& r : out) r.fill(seed_of(p.rank, n));
    for (int i = 0; i < kMany; ++i)
      for (int k : {0, 1}) {
        const MPI_Aint step = type_extent(in[k].type);
        MPI_Irecv(in[k].origin() + i * step, 1, in[k].type, p.peer, i % 10, world, &request.emplace_back());
        MPI_Isend(out[k].origin() + i * step, 1, out[k].type, p.peer, i % 10, world, &request.emplace_back());
      }
    check_ok(MPI_Waitall(int(request.size()), request.data(), MPI_STATUSES_IGNORE), "many outstanding");
    for (int k : {0, 1}) {
      out[k].fill(seed_of(p.peer, n));
      in[k].expect(out[k].packed(), "many outstanding, bytes");
    }
  }
}

// Both wait for the other in an order that works only if every blocking call moves everything on.
void head_to_head(const Pair& p) {
  for (int n : {700, 150000}) {
    if (!p.active) continue;
    const std::string what = "head to head, n " + std::to_string(n);
    contract().section(what);
    Region out(strided, n), in(strided, n);
    MPI_Request request;
    out.fill(seed_of(p.rank, n));
    check_ok(irecv(in, p.peer, 1, &request), what);
    check_ok(MPI_Send(out.address, 1, out.type, p.peer, 1, world), what + ", Irecv, Send, Wait");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
    Region theirs(strided, n);
    theirs.fill(seed_of(p.peer, n));
    in.expect(theirs.packed(), what + ", Irecv, Send, Wait");

    in.poison();
    check_ok(isend(out, p.peer, 2, &request), what);
    check_ok(MPI_Recv(in.address, 1, in.type, p.peer, 2, world, MPI_STATUS_IGNORE), what);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
    in.expect(theirs.packed(), what + ", Isend, Recv, Wait");
  }
}

// One message of several is too long: the others arrive, and the statuses tell which one it was.
void error_in_status(const Pair& p) {
  for (int n : {3, 40000}) {
    if (!p.active) continue;
    const std::string what = "one truncated of three, n " + std::to_string(n);
    contract().section(what);
    Region a(strided, n), b(strided, n), longer(strided, n + 5), c(dense, n);
    if (p.sends) {
      for (Region* r : {&a, &longer, &c}) r->fill(seed_of(0, n));
      take_token(p.peer);
      int tag = 0;
      for (Region* r : {&a, &longer, &c}) MPI_Send(r->address, 1, r->type, p.peer, ++tag, world);
      take_token(p.peer);
    } else {
      MPI_Request request[3];
      auto status = blanks(3);
      irecv(a, p.peer, 1, &request[0]);
      irecv(b, p.peer, 2, &request[1]);
      irecv(c, p.peer, 3, &request[2]);
      give_token(p.peer);
      check_class(MPI_Waitall(3, request, status.data()), MPI_ERR_IN_STATUS, what);
      // A request may still be pending after an error elsewhere in the array.
      for (int i : {0, 2})
        if (request[i] != MPI_REQUEST_NULL) status[i].MPI_ERROR = MPI_Wait(&request[i], &status[i]);
      check_class(status[0].MPI_ERROR, MPI_SUCCESS, what + ", the first");
      check_class(status[1].MPI_ERROR, MPI_ERR_TRUNCATE, what + ", the second");
      check_class(status[2].MPI_ERROR, MPI_SUCCESS, what + ", the third");
      b.expect_gaps(what + ", nothing written elsewhere");
      for (Region* r : {&a, &c}) {
        Region sent(r == &a ? strided : dense, n);
        sent.fill(seed_of(0, n));
        r->expect(sent.packed(), what + ", the others");
      }
      give_token(p.peer);
    }
  }
}

void truncated_alone(const Pair& p) {
  for (int n : {3, 40000}) {
    if (!p.active) continue;
    const std::string what = "truncated Irecv, n " + std::to_string(n);
    contract().section(what);
    Region target(strided, n), longer(strided, n + 5);
    MPI_Request request;
    if (p.sends) {
      for (int tag : {1, 2}) MPI_Send(longer.address, 1, longer.type, p.peer, tag, world);
    } else {
      MPI_Status status = blank_status();
      irecv(target, p.peer, 1, &request);
      check_class(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE, what + ", Wait");
      check_equal(status.MPI_TAG, 1, what + ", status tag");
      int flag = 0, code = MPI_SUCCESS;
      irecv(target, p.peer, 2, &request);
      while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, &status);
      check_class(code, MPI_ERR_TRUNCATE, what + ", Test");
      target.expect_gaps(what + ", nothing written elsewhere");
    }
  }
}

CONTRACT_PROGRAM(nonblocking) {
  Contract c("nonblocking", &argc, &argv);
  const Pair p;
  every_type(p);
  completion(p);
  nothing_to_complete();
  freed_requests(p);
  cancelled(p);
  freed_types(p);
  many(p);
  head_to_head(p);
  error_in_status(p);
  truncated_alone(p);
  return c.finish();
}

}  // namespace nonblocking_contract
