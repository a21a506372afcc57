// Strided messages on communicators other than MPI_COMM_WORLD, and on some that are gone already.
#include <unistd.h>

#include "peers.hpp"

namespace communicators_contract {

const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
const Sample scattered = {"indexed", [](int n) { return irregular(n, false); }};

// Everyone exchanges with `to` and `from`; `sender` is who that is in the world. With `comm_freed`
// the communicator goes while the requests are pending.
void exchange(MPI_Comm* comm, int to, int from, int sender, bool comm_freed, const std::string& name) {
  for (const Sample& sample : {strided, scattered})
    for (int n : {3, 700, 60000}) {
      const std::string what = name + ", " + sample.name + ", n " + std::to_string(n);
      contract().section(what);
      Region in(sample, n), out(sample, n), model(sample, n);
      out.fill(seed_of(contract().rank, n));
      model.fill(seed_of(sender, n));
      MPI_Comm used = *comm;
      if (comm_freed) MPI_Comm_dup(*comm, &used);
      MPI_Comm_set_errhandler(used, MPI_ERRORS_RETURN);
      MPI_Request request[2];
      MPI_Status status[2] = {blank_status(), blank_status()};
      check_ok(MPI_Irecv(in.address, in.count, in.type, from, 2, used, &request[0]), what);
      check_ok(MPI_Isend(out.address, out.count, out.type, to, 2, used, &request[1]), what);
      if (comm_freed) check_ok(MPI_Comm_free(&used), what);
      check_ok(MPI_Waitall(2, request, status), what);
      check_status(status[0], from, 2, in, what);
      in.expect(model.packed(), what);
      if (comm_freed) continue;

      in.poison();
      check_ok(MPI_Sendrecv(out.address, out.count, out.type, to, 3, in.address, in.count, in.type, from, MPI_ANY_TAG,
                            used, &status[0]),
               what + ", Sendrecv");
      check_status(status[0], from, 3, in, what + ", Sendrecv");
      in.expect(model.packed(), what + ", Sendrecv");
    }
}

// The same tag on two communicators: no message may cross over.
void apart(const Pair& p) {
  contract().section("two communicators apart");
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int n : {3, 60000}) {
    if (!p.active) continue;
    Region a(strided, n), b(strided, n);
    MPI_Request request[2];
    if (p.sends) {
      a.fill(1);
      b.fill(2);
      MPI_Isend(a.address, 1, a.type, p.peer, 1, MPI_COMM_WORLD, &request[0]);
      MPI_Isend(b.address, 1, b.type, p.peer, 1, other, &request[1]);
    } else {
      MPI_Irecv(b.address, 1, b.type, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &request[1]);
      MPI_Irecv(a.address, 1, a.type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]);
    }
    check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), "two communicators apart");
    if (p.receives) {
      Region model(strided, n);
      model.fill(1);
      a.expect(model.packed(), "two communicators apart, the first");
      model.fill(2);
      b.expect(model.packed(), "two communicators apart, the second");
    }
  }
  MPI_Comm_free(&other);
}

// One side only receives, and frees the communicator before the other side sends.
void freed_by_receivers(const Pair& p) {
  for (const bool persistent : {false, true})
    for (int n : {700, 60000, 200000}) {
      const std::string what = "freed by a receiver, n " + std::to_string(n) + (persistent ? ", persistent" : "");
      contract().section(what);
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      Region data(strided, n), model(strided, n);
      model.fill(n);
      MPI_Request request = MPI_REQUEST_NULL;
      if (p.active && p.receives) {
        if (persistent) {
          check_ok(MPI_Recv_init(data.address, 1, data.type, p.peer, 1, comm, &request), what);
          check_ok(MPI_Start(&request), what);
        } else {
          check_ok(MPI_Irecv(data.address, 1, data.type, p.peer, 1, comm, &request), what);
        }
      } else if (p.active && p.sends) {
        usleep(5000);
        data.fill(n);
        check_ok(MPI_Isend(data.address, 1, data.type, p.peer, 1, comm, &request), what);
      }
      check_ok(MPI_Comm_free(&comm), what);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
      if (p.active && p.receives) data.expect(model.packed(), what);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
}

CONTRACT_PROGRAM(communicators) {
  Contract c("communicators", &argc, &argv);
  const Pair p;
  const int left = (c.rank + c.ranks - 1) % c.ranks, right = (c.rank + 1) % c.ranks;
  for (bool freed : {false, true}) {
    const std::string end = freed ? ", freed while pending" : "";
    MPI_Comm dup, mirror, halves, self = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    exchange(&dup, right, left, left, freed, "duplicate" + end);
    MPI_Comm_free(&dup);

    // The message that announces another is shorter than the receive, whatever the program asserts.
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_exact_length", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &dup);
    MPI_Info_free(&info);
    exchange(&dup, right, left, left, freed, "duplicate with an assertion" + end);
    MPI_Comm_free(&dup);

    // All ranks, backwards.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -c.rank, &mirror);
    const int mine = c.ranks - 1 - c.rank;
    exchange(&mirror, (mine + 1) % c.ranks, (mine + c.ranks - 1) % c.ranks, right, freed, "mirror" + end);
    MPI_Comm_free(&mirror);

    exchange(&self, 0, 0, c.rank, freed, "MPI_COMM_SELF" + end);

    if (c.ranks % 2 == 0) {
      // The lower half talks to the upper half, each rank to the one at the same place.
      const int half = c.ranks / 2, place = c.rank % half;
      const bool low = c.rank < half;
      MPI_Comm_split(MPI_COMM_WORLD, low, c.rank, &halves);
      MPI_Comm between;
      MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, low ? half : 0, 5, &between);
      exchange(&between, place, place, low ? c.rank + half : c.rank - half, freed, "intercommunicator" + end);
      MPI_Comm_free(&between);
      MPI_Comm_free(&halves);
    }
  }
  apart(p);
  freed_by_receivers(p);
  return c.finish();
}

}  // namespace communicators_contract
