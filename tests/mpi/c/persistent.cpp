// Persistent requests: made once, started again and again with other data.
#include "peers.hpp"

namespace persistent_contract {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int kRounds = 4;

const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
const Sample dense = {"contiguous", [](int n) { return make::contiguous(n, MPI_DOUBLE); }};

int send_init(const Region& r, int to, int tag, MPI_Request* request) {
  return MPI_Send_init(r.address, r.count, r.type, to, tag, world, request);
}
int recv_init(const Region& r, int from, int tag, MPI_Request* request) {
  return MPI_Recv_init(r.address, r.count, r.type, from, tag, world, request);
}

void every_type(const Pair& p) {
  for (const Sample& sample : samples())
    for (int n : {2, 100, 9000, 40000}) {
      if (!p.active) continue;
      Region r(sample, n, n < 2000 ? 2 : 1);
      for (const Mode& mode : modes) {
        if (mode.buffered && !takes_bytes(sample, n)) continue;
        const std::string what = std::string(mode.name) + "_init of " + sample.name + ", n " + std::to_string(n);
        contract().section(what);
        const Attached buffer(mode.buffered ? r.size() : 0, kRounds);
        MPI_Request request;
        if (p.sends)
          check_ok(mode.init(r.address, r.count, r.type, p.peer, 3, world, &request), what);
        else
          check_ok(recv_init(r, p.peer, 3, &request), what);
        for (int round = 0; round < kRounds; ++round) {
          MPI_Status status = blank_status();
          r.fill(seed_of(p.sends ? p.rank : p.peer, round));
          if (p.sends) {
            take_token(p.peer);
            check_ok(MPI_Start(&request), what);
            check_ok(MPI_Wait(&request, &status), what);
          } else {
            const Bytes expected = r.packed();
            r.poison();
            check_ok(MPI_Start(&request), what);
            give_token(p.peer);
            check_ok(MPI_Wait(&request, &status), what);
            check_status(status, p.peer, 3, r, what);
            r.expect(expected, what);
          }
          check(request != MPI_REQUEST_NULL, what + ", the request stays");
        }
        check_ok(MPI_Request_free(&request), what + ", free");
        check(request == MPI_REQUEST_NULL, what + ", request null at the end");
      }
    }
}

void inactive(const Pair& p) {
  if (!p.active) return;
  contract().section("inactive");
  Region r(strided, 30);
  MPI_Request request;
  MPI_Status status = blank_status();
  int flag = 0, index = -7;
  recv_init(r, p.peer, 9, &request);
  check_ok(MPI_Test(&request, &flag, &status), "Test on an inactive request");
  check(flag, "Test on an inactive request, flag");
  check_empty(status, "Test on an inactive request");
  status = blank_status();
  check_ok(MPI_Wait(&request, &status), "Wait on an inactive request");
  check_empty(status, "Wait on an inactive request");
  check_ok(MPI_Waitany(1, &request, &index, &status), "Waitany on an inactive request");
  check_equal(index, MPI_UNDEFINED, "Waitany on an inactive request, index");
  flag = 0;
  check_ok(MPI_Request_get_status(request, &flag, &status), "Request_get_status on an inactive request");
  check(flag, "Request_get_status on an inactive request, flag");
  check_ok(MPI_Request_free(&request), "free of an inactive request");
  r.expect_untouched("inactive request, buffer");
}

// Startall over everything a halo exchange has, with ordinary requests among them.
void started_together(const Pair& p) {
  for (int n : {3, 700, 40000})
    for (bool freed : {false, true}) {
      if (!p.active) continue;
      const std::string what =
          std::string("Startall, n ") + std::to_string(n) + (freed ? ", types freed after init" : "");
      contract().section(what);
      Region in(strided, n), in_dense(dense, n), in_plain(strided, n);
      Region out(strided, n), out_dense(dense, n), out_plain(strided, n);
      MPI_Datatype plain = make::vector(n, 1, 2, MPI_DOUBLE);
      MPI_Type_commit(&plain);
      // The first four are persistent; the last two are made anew in every round.
      MPI_Request request[6];
      recv_init(in, p.peer, 1, &request[0]);
      recv_init(in_dense, p.peer, 2, &request[1]);
      send_init(out, p.peer, 1, &request[2]);
      send_init(out_dense, p.peer, 2, &request[3]);
      if (freed)
        for (Region* r : {&in, &in_dense, &out, &out_dense}) MPI_Type_free(&r->type);
      Region model(strided, n), model_dense(dense, n);
      for (int round = 0; round < kRounds; ++round) {
        for (Region* r : {&in, &in_dense, &in_plain}) r->poison();
        int k = 0;
        for (Region* r : {&out, &out_dense, &out_plain}) r->fill(seed_of(p.rank, 10 * round + k++));
        check_ok(MPI_Startall(4, request), what);
        MPI_Irecv(in_plain.address, 1, plain, p.peer, 3, world, &request[4]);
        MPI_Isend(out_plain.address, 1, plain, p.peer, 3, world, &request[5]);
        MPI_Status status[6];
        check_ok(MPI_Waitall(6, request, status), what);
        check_equal(status[0].MPI_TAG, 1, what + ", status tag");
        check_equal(status[1].MPI_SOURCE, p.peer, what + ", status source");
        for (int i = 0; i < 6; ++i)
          check((request[i] == MPI_REQUEST_NULL) == (i >= 4), what + ", which requests are null");
        model.fill(seed_of(p.peer, 10 * round));
        in.expect(model.packed(), what + ", strided");
        model_dense.fill(seed_of(p.peer, 10 * round + 1));
        in_dense.expect(model_dense.packed(), what + ", contiguous");
        model.fill(seed_of(p.peer, 10 * round + 2));
        in_plain.expect(model.packed(), what + ", ordinary");
      }
      for (int i = 0; i < 4; ++i) check_ok(MPI_Request_free(&request[i]), what + ", free");
      MPI_Type_free(&plain);
    }
}

// Each completion call leaves persistent requests in place and inactive.
void completed_by(const Pair& p) {
  for (int n : {3, 40000})
    for (int how = 0; how < 6; ++how) {
      if (!p.active) continue;
      static const char* names[] = {"Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"};
      const std::string what = std::string("persistent by ") + names[how] + ", n " + std::to_string(n);
      contract().section(what);
      Region in(strided, n), out(strided, n), model(strided, n);
      MPI_Request request[2];
      recv_init(in, MPI_ANY_SOURCE, 4, &request[0]);
      send_init(out, p.peer, 4, &request[1]);
      for (int round = 0; round < 2; ++round) {
        in.poison();
        out.fill(seed_of(p.rank, round));
        check_ok(MPI_Startall(2, request), what);
        int done = 0, flag, index, list[2];
        while (done < 2) {
          switch (how) {
            case 0:
              MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
              ++done;
              break;
            case 1:
              MPI_Waitsome(2, request, &index, list, MPI_STATUSES_IGNORE);
              done += index;
              break;
            case 2:
              MPI_Test(&request[done], &flag, MPI_STATUS_IGNORE);
              done += flag;
              break;
            case 3:
              MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
              done = flag ? 2 : 0;
              break;
            case 4:
              MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE);
              done += flag;
              break;
            default: MPI_Testsome(2, request, &index, list, MPI_STATUSES_IGNORE); done += index;
          }
        }
        model.fill(seed_of(p.peer, round));
        in.expect(model.packed(), what);
        check(request[0] != MPI_REQUEST_NULL && request[1] != MPI_REQUEST_NULL, what + ", the requests stay");
      }
      for (MPI_Request& r : request) MPI_Request_free(&r);
    }
}

void cancelled(const Pair& p) {
  if (!p.active) return;
  contract().section("cancel");
  Region in(strided, 50), out(strided, 50);
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  recv_init(in, p.peer, 8, &request);
  check_ok(MPI_Start(&request), "cancel of a persistent receive");
  check_ok(MPI_Cancel(&request), "cancel of a persistent receive");
  check_ok(MPI_Wait(&request, &status), "cancel of a persistent receive");
  MPI_Test_cancelled(&status, &flag);
  check(flag, "cancel of a persistent receive, is cancelled");
  in.expect_untouched("cancel of a persistent receive, buffer");
  give_token(p.peer);
  take_token(p.peer);
  check_ok(MPI_Start(&request), "persistent receive after a cancel");
  out.fill(seed_of(p.rank, 1));
  MPI_Send(out.address, 1, out.type, p.peer, 8, world);
  check_ok(MPI_Wait(&request, &status), "persistent receive after a cancel");
  out.fill(seed_of(p.peer, 1));
  in.expect(out.packed(), "persistent receive after a cancel");
  MPI_Request_free(&request);
}

/// Requests outlive the handle of their communicator, which another communicator may get.
void freed_communicator(const Pair& p) {
  contract().section("freed communicator");
  for (int n : {5, 900, 20000}) {
    MPI_Comm before, after;
    MPI_Comm_dup(world, &before);
    Region in(strided, n), out(strided, n), model(strided, n);
    MPI_Request requests[2];
    if (p.active) {
      check_ok(MPI_Recv_init(in.address, 1, in.type, p.peer, 1, before, &requests[0]), "init");
      check_ok(MPI_Send_init(out.address, 1, out.type, p.peer, 1, before, &requests[1]), "init");
    }
    const auto exchange = [&](int round) {
      if (!p.active) return;
      in.poison();
      out.fill(seed_of(p.rank, round));
      check_ok(MPI_Startall(2, requests), "start");
      check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "wait");
      model.fill(seed_of(p.peer, round));
      in.expect(model.packed(), "persistent receive");
    };
    exchange(0);
    MPI_Comm_free(&before);
    MPI_Comm_dup(world, &after);
    for (int round = 1; round < 40; ++round) exchange(round);
    for (auto& request : requests)
      if (p.active) check_ok(MPI_Request_free(&request), "free");
    MPI_Comm_free(&after);
  }
}

CONTRACT_PROGRAM(persistent) {
  Contract c("persistent", &argc, &argv);
  const Pair p;
  every_type(p);
  inactive(p);
  started_together(p);
  completed_by(p);
  cancelled(p);
  freed_communicator(p);
  return c.finish();
}

}  // namespace persistent_contract
