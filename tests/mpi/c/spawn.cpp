// Strided messages to processes of other worlds: spawned ones, and such as met at a port.
#include "surface.hpp"

namespace spawn_contract {

constexpr auto isend = FUNCTION(MPI_Isend);
constexpr auto irecv = FUNCTION(MPI_Irecv);
constexpr auto sendrecv = FUNCTION(MPI_Sendrecv);
constexpr auto bcast = FUNCTION(MPI_Bcast);

constexpr int kChildren = 2;

// Each rank with the one at its place on the other side. `side` tells the two apart in the data.
void exchange(MPI_Comm between, int side, const std::string& name) {
  MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
  int place, others;
  MPI_Comm_rank(between, &place);
  MPI_Comm_remote_size(between, &others);
  for (int n : {3, 700, 40000}) {
    const std::string what = name + ", n " + std::to_string(n);
    contract().section(what);
    const Type mine = signatures()[0].type(1 + side, n), theirs = signatures()[0].type(3 - side, n);
    const MPI_Datatype out_type = mine, in_type = theirs;
    Buffer out(out_type, 1), in(in_type, 1);
    out.put(data(10 * side + place, -1, n, out.size()));
    const Bytes expected = data(10 * (1 - side) + place, -1, n, in.size());
    if (place < others) {
      MPI_Request request[2];
      check_ok(irecv(in.address(), 1, in_type, place, 1, between, &request[0]), what + ", Irecv");
      check_ok(isend(out.address(), 1, out_type, place, 1, between, &request[1]), what + ", Isend");
      check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), what + ", Waitall");
      in.expect(expected, what + ", Isend and Irecv");
      in.poison();
      check_ok(sendrecv(out.address(), 1, out_type, place, 2, in.address(), 1, in_type, place, 2, between,
                        MPI_STATUS_IGNORE),
               what + ", Sendrecv");
      in.expect(expected, what + ", Sendrecv, data");
    }
    // From the first of side 0 to all of side 1.
    in.poison();
    const int root = side == 1 ? 0 : place == 0 ? MPI_ROOT : MPI_PROC_NULL;
    check_ok(
        side == 0 ? bcast(out.address(), 1, out_type, root, between) : bcast(in.address(), 1, in_type, root, between),
        what + ", Bcast");
    if (side == 1) in.expect(data(0, -1, n, in.size()), what + ", Bcast, data");
  }
}

int child(MPI_Comm parents) {
  exchange(parents, 1, "spawned, in the child");
  MPI_Comm_disconnect(&parents);
  MPI_Finalize();
  return 0;
}

void spawn(char* program) {
  contract().section("MPI_Comm_spawn");
  MPI_Comm children;
  int codes[kChildren];
  char name[] = "spawn";
  char* arguments[] = {name, nullptr};
  if (!went(MPI_Comm_spawn(program, arguments, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes),
            "MPI_Comm_spawn"))
    return;
  exchange(children, 0, "spawned");
  contract().section("MPI_Comm_disconnect");
  check_ok(MPI_Comm_disconnect(&children), "MPI_Comm_disconnect");
}

// The two halves of the world as if they were strangers.
void meet() {
  contract().section("a port");
  const int me = contract().rank, half = contract().ranks / 2;
  const bool opens = me < half;
  MPI_Comm side, between;
  MPI_Comm_split(MPI_COMM_WORLD, opens, me, &side);
  MPI_Comm_set_errhandler(side, MPI_ERRORS_RETURN);
  char port[MPI_MAX_PORT_NAME] = "";
  if (me == 0 && MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS) *port = 0;
  PMPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!*port) {
    MPI_Comm_free(&side);
    return contract().skip("this MPI opens no port here");
  }
  const int rc = opens ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, side, &between)
                       : MPI_Comm_connect(port, MPI_INFO_NULL, 0, side, &between);
  if (went(rc, opens ? "MPI_Comm_accept" : "MPI_Comm_connect")) {
    exchange(between, opens, "met at a port");
    check_ok(MPI_Comm_disconnect(&between), "a port, MPI_Comm_disconnect");
  }
  if (me == 0) MPI_Close_port(port);
  MPI_Comm_free(&side);
}

CONTRACT_PROGRAM(spawn) {
  Contract contract("spawn", &argc, &argv);
  alarm(15);  // some MPIs cannot do this on some machines, and wait for ever
  MPI_Comm parents;
  MPI_Comm_get_parent(&parents);
  if (parents != MPI_COMM_NULL) return child(parents);
  const std::string only = argc > 1 ? argv[1] : "";
  if (only != "spawn" && contract.ranks > 1) meet();
  if (only != "port") spawn(argv[0]);
  say_called();
  return contract.finish();
}

}  // namespace spawn_contract
