// MPI_Bcast and MPI_Ibcast with buffers in every kind of memory, another on each rank, layouts that
// differ too: every root, often enough that GPUs have found out whose memory they can read.
#include <random>

#include "doubles.hpp"
#include "mirror.hpp"

namespace gpu_bcast_contract {

constexpr Kind memories[] = {Kind::device, Kind::device, Kind::managed, Kind::other_device,
                             Kind::host,   Kind::device, Kind::pool,    Kind::pinned};

/// What a rank has for one broadcast.
struct Part {
  Part(unsigned way, Kind kind, int n, int root, unsigned seed)
      : region(doubles(way, n), 1, "data"),
        sent(make::contiguous(n, MPI_DOUBLE), 1, "sent"),
        mirror(region, there(kind) ? kind : Kind::device) {
    sent.fill(seed);
    expected = sent.packed();
    region.poison();
    if (contract().rank == root) oracle_unpack(region.map(), expected, region.origin());
    mirror.write();
  }
  void expect(const std::string& what) {
    mirror.read_back();
    region.expect(expected, what);
  }
  Region region, sent;
  Mirror mirror;
  Bytes expected;
};

void one(int root, int n, unsigned turn, bool blocking) {
  const auto rank = unsigned(contract().rank);
  // All in contiguous device memory, then each in its own way.
  const bool alike = turn % 3 == 0;
  std::minstd_rand chance(turn * 64 + rank);
  chance.discard(4);
  const Kind kind = alike ? Kind::device : memories[chance() % std::size(memories)];
  const auto what = std::string(blocking ? "MPI_Bcast" : "MPI_Ibcast") + ", root " + std::to_string(root) + ", n " +
                    std::to_string(n) + ", turn " + std::to_string(turn);
  contract().section(what);
  Part part(alike ? 0 : unsigned(chance()), kind, n, root, turn);
  if (blocking) {
    check_ok(MPI_Bcast(part.mirror.address(), 1, part.region.type, root, MPI_COMM_WORLD), what);
  } else {
    MPI_Request request = MPI_REQUEST_NULL;
    check_ok(MPI_Ibcast(part.mirror.address(), 1, part.region.type, root, MPI_COMM_WORLD, &request), what);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
  }
  part.expect(what);
}

CONTRACT_PROGRAM(bcast) {
  Contract c("gpu_bcast", &argc, &argv);
  unsigned turn = 0;
  for (const int n : {10, 700, 4097, 150000})
    for (int again = 0; again < (n > 100000 ? 6 : 12); ++again)
      for (int root = 0; root < contract().ranks; ++root)
        for (const bool blocking : {true, false}) one(root, n, ++turn, blocking);
  return c.finish();
}

}  // namespace gpu_bcast_contract
