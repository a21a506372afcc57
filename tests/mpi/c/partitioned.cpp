// Partitioned messages of strided types, cut differently on both sides.
#include "peers.hpp"
#include "surface.hpp"

namespace partitioned_contract {
#ifdef CONTRACT_HAVE_MPI4_OBJECTS

constexpr auto psend_init = FUNCTION(MPI_Psend_init);
constexpr auto precv_init = FUNCTION(MPI_Precv_init);

constexpr int kParts = 4;

// How the sender says that its partitions are ready, never in their order.
enum class Ready { single, range, list };

int make_ready(Ready how, MPI_Request request) {
  int rc = MPI_SUCCESS;
  if (how == Ready::single) {
    for (int part : {2, 0, 3, 1})
      if (rc == MPI_SUCCESS) rc = MPI_Pready(part, request);
  } else if (how == Ready::range) {
    rc = MPI_Pready_range(2, 3, request);
    if (rc == MPI_SUCCESS) rc = MPI_Pready_range(0, 1, request);
  } else {
    int parts[] = {3, 0, 2, 1};
    rc = MPI_Pready_list(4, parts, request);
  }
  return rc;
}

void exchange(const Pair& p, Ready how, const Signature& signature, int n, int receive_parts) {
  const std::string what = std::string("partitioned, ") + signature.name + ", n " + std::to_string(n) +
                           ", received in " + std::to_string(receive_parts) + ", ready as " +
                           (how == Ready::single  ? "one"
                            : how == Ready::range ? "range"
                                                  : "list");
  contract().section(what);
  const Type type = signature.type(p.sends ? 1 : 2, n);
  const int elements = 2 * kParts, parts = p.sends ? kParts : receive_parts;
  Buffer buffer(type, elements);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto init = [&](const auto& function) {
    return function(buffer.address(), parts, MPI_Count(elements / parts), MPI_Datatype(type), p.peer, 5, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &request);
  };
  if (!went(p.sends ? init(psend_init) : init(precv_init), what)) return;
  for (int round = 0; round < 3; ++round) {
    const Bytes stream = data(p.sends ? p.rank : p.peer, -1, round + 10 * n, buffer.size());
    p.sends ? buffer.put(stream) : buffer.poison();
    check_ok(MPI_Start(&request), what + ", Start");
    if (p.sends) {
      check_ok(make_ready(how, request), what + ", Pready");
    } else {
      int rc = MPI_SUCCESS;
      for (int part = 0; part < parts; ++part)
        for (int flag = 0; !flag && rc == MPI_SUCCESS;) rc = MPI_Parrived(request, part, &flag);
      check_ok(rc, what + ", Parrived");
      buffer.expect(stream, what + ", when all have arrived");
    }
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ", Wait");
    buffer.expect(stream, what);
  }
  check_ok(MPI_Request_free(&request), what + ", Request_free");
}

#endif

CONTRACT_PROGRAM(partitioned) {
  Contract contract("partitioned", &argc, &argv);
#ifdef CONTRACT_HAVE_MPI4_OBJECTS
  const Pair p;
  for (const Signature& signature : signatures())
    for (int n : signature.sizes())
      for (int receive_parts : {kParts, 2})
        for (Ready how : {Ready::single, Ready::range, Ready::list})
          if (p.active) exchange(p, how, signature, n, receive_parts);
#else
  contract.skip("this mpi.h has no partitioned calls");
#endif
  say_called();
  return contract.finish();
}

}  // namespace partitioned_contract
