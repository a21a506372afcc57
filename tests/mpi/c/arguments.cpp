// Calls with wrong arguments while strided receives are under way: the MPI's own errors, and
// nothing is lost.
#include "peers.hpp"

namespace arguments_contract {

const Sample strided = {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
constexpr int n = 3000;

// One receive from oneself under way, a call that fails beside it, then its message.
template <class Call>
void around(const std::string& what, bool persistent, Call&& call) {
  contract().section(what);
  Region in(strided, n), out(strided, n);
  out.fill(7);
  MPI_Request request;
  if (persistent) {
    MPI_Recv_init(in.address, in.count, in.type, 0, 9, MPI_COMM_SELF, &request);
    MPI_Start(&request);
  } else {
    MPI_Irecv(in.address, in.count, in.type, 0, 9, MPI_COMM_SELF, &request);
  }
  check(call(&request) != MPI_SUCCESS, what + ", refused");
  MPI_Send(out.address, out.count, out.type, 0, 9, MPI_COMM_SELF);
  check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
  in.expect(out.packed(), what + ", bytes");
  if (persistent) MPI_Request_free(&request);
}

// A message that is too long for a receive on a communicator with a handler of its own is that
// handler's, and not before the receive is waited for.
int own_calls = 0, world_calls = 0;
void own_handler(MPI_Comm*, int*, ...) { ++own_calls; }
void world_handler(MPI_Comm*, int*, ...) { ++world_calls; }

void truncated_elsewhere() {
  const std::string what = "truncation on another communicator";
  contract().section(what);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Errhandler own, world;
  MPI_Comm_create_errhandler(own_handler, &own);
  MPI_Comm_create_errhandler(world_handler, &world);
  MPI_Comm_set_errhandler(comm, own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
  Region in(strided, 600), out(strided, 900);
  out.fill(3);
  MPI_Request send, receive;
  MPI_Isend(out.address, out.count, out.type, 0, 4, comm, &send);
  check_ok(MPI_Irecv(in.address, in.count, in.type, 0, 4, comm, &receive), what + ", Irecv");
  check_equal(own_calls + world_calls, 0, what + ", handlers at Irecv");
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  check_equal(own_calls, 1, what + ", its own handler");
  check_equal(world_calls, 0, what + ", the world's handler");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&own);
  MPI_Errhandler_free(&world);
  MPI_Comm_free(&comm);
}

CONTRACT_PROGRAM(arguments) {
  Contract c("arguments", &argc, &argv);
  for (bool persistent : {false, true}) {
    const std::string kind = persistent ? ", persistent" : "";
    int flag = 0, index = 0, count = 0;
    around("Testall, no flag" + kind, persistent,
           [](MPI_Request* r) { return MPI_Testall(1, r, nullptr, MPI_STATUSES_IGNORE); });
    around("Testany, no index" + kind, persistent,
           [&](MPI_Request* r) { return MPI_Testany(1, r, nullptr, &flag, MPI_STATUS_IGNORE); });
    around("Testany, no flag" + kind, persistent,
           [&](MPI_Request* r) { return MPI_Testany(1, r, &index, nullptr, MPI_STATUS_IGNORE); });
    around("Waitany, no index" + kind, persistent,
           [](MPI_Request* r) { return MPI_Waitany(1, r, nullptr, MPI_STATUS_IGNORE); });
    around("Test, no flag" + kind, persistent, [](MPI_Request* r) { return MPI_Test(r, nullptr, MPI_STATUS_IGNORE); });
    around("Waitsome, no indices" + kind, persistent,
           [&](MPI_Request* r) { return MPI_Waitsome(1, r, &count, nullptr, MPI_STATUSES_IGNORE); });
    around("Waitany, a negative count, index 0" + kind, persistent, [&](MPI_Request* r) {
      index = 0;
      return MPI_Waitany(-1, r, &index, MPI_STATUS_IGNORE);
    });
  }
  truncated_elsewhere();
  return c.finish();
}

}  // namespace arguments_contract
