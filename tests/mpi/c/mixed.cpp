// Types made of elements of different sizes, and messages that were packed on one side: by the
// program (MPI_PACKED), by a buffered send, by Sendrecv_replace. Some MPIs fail here by themselves.
#include "peers.hpp"

namespace mixed_contract {

const MPI_Comm world = MPI_COMM_WORLD;

void packed_to_typed(const Pair& p, const Sample& sample, int n, const std::string& what) {
  contract().section("contiguous to strided, " + what);
  Region r(sample, n);
  r.fill(seed_of(1, n));
  const Bytes expected = r.packed();
  if (p.sends)
    check_ok(MPI_Send(expected.data(), r.size(), MPI_PACKED, p.peer, 1, world), "contiguous to strided, " + what);
  if (p.receives) {
    r.poison();
    check_ok(MPI_Recv(r.address, r.count, r.type, p.peer, 1, world, MPI_STATUS_IGNORE),
             "contiguous to strided, " + what);
    r.expect(expected, "contiguous to strided, " + what);
  }
}

void buffered(const Pair& p, const Sample& sample, int n, const std::string& what) {
  contract().section("Bsend, " + what);
  Region r(sample, n);
  r.fill(seed_of(1, n));
  if (p.sends) {
    const Attached buffer(r.size());
    check_ok(MPI_Bsend(r.address, r.count, r.type, p.peer, 2, world), "Bsend, " + what);
  }
  if (p.receives) {
    const Bytes expected = r.packed();
    r.poison();
    check_ok(MPI_Recv(r.address, r.count, r.type, p.peer, 2, world, MPI_STATUS_IGNORE), "Bsend, " + what);
    r.expect(expected, "Bsend, " + what);
  }
}

void replaced(const Sample& sample, int n, const std::string& what) {
  const Contract& c = contract();
  const int to = (c.rank + 1) % c.ranks, from = (c.rank + c.ranks - 1) % c.ranks;
  contract().section("Sendrecv_replace, " + what);
  Region r(sample, n);
  r.fill(seed_of(from, n));
  const Bytes expected = r.packed();
  r.fill(seed_of(c.rank, n));
  const Bytes mine = r.packed();
  r.poison();
  oracle_unpack(r.map(), mine, r.origin());
  check_ok(MPI_Sendrecv_replace(r.address, r.count, r.type, to, 6, from, 6, world, MPI_STATUS_IGNORE),
           "Sendrecv_replace, " + what);
  r.expect(expected, "Sendrecv_replace, " + what);
}

CONTRACT_PROGRAM(mixed) {
  Contract c("mixed", &argc, &argv);
  const Pair p;
  for (const Sample& sample : all_samples())
    for (int n : sizes()) {
      if (!sample.mixed) continue;
      const std::string what = std::string(sample.name) + ", n " + std::to_string(n);
      packed_to_typed(p, sample, n, what);
      buffered(p, sample, n, what);
      replaced(sample, n, what);
    }
  return c.finish();
}

}  // namespace mixed_contract
