#include "collectives/operations.hpp"

namespace bench::collectives {
namespace {

constexpr int root = 0;  // so a rank's first block is that of the root

unsigned of_pair(int from, int to) { return static_cast<unsigned>(1 + from * 1000 + to); }

void alltoall(Blocks& from, Blocks& to) {
  MPI_Alltoall(from.at(), 1, from.type(), to.at(), 1, to.type(), MPI_COMM_WORLD);
}

void allgather(Blocks& from, Blocks& to) {
  MPI_Allgather(from.at(), 1, from.type(), to.at(), 1, to.type(), MPI_COMM_WORLD);
}

void ialltoall(Blocks& from, Blocks& to) {
  MPI_Request request;
  MPI_Ialltoall(from.at(), 1, from.type(), to.at(), 1, to.type(), MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void iallgather(Blocks& from, Blocks& to) {
  MPI_Request request;
  MPI_Iallgather(from.at(), 1, from.type(), to.at(), 1, to.type(), MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// What is sent lies where what comes is to lie.
void alltoall_in_place(Blocks&, Blocks& to) {
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to.at(), 1, to.type(), MPI_COMM_WORLD);
}

void gather(Blocks& from, Blocks& to) {
  MPI_Gather(from.at(), 1, from.type(), to.at(), 1, to.type(), root, MPI_COMM_WORLD);
}

void scatter(Blocks& from, Blocks& to) {
  MPI_Scatter(from.at(), 1, from.type(), to.at(), 1, to.type(), root, MPI_COMM_WORLD);
}

/// By places in bytes.
Operation alltoallw(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return {"alltoallw", true,
          [ranks, ones = std::vector<int>(n, 1)](Blocks& from, Blocks& to) {
            std::vector<int> places;
            for (int i = 0; i < ranks; ++i) places.push_back(static_cast<int>(i * from.extent()));
            const std::vector<MPI_Datatype> sent(ones.size(), from.type()), received(ones.size(), to.type());
            MPI_Alltoallw(from.at(), ones.data(), places.data(), sent.data(), to.at(), ones.data(), places.data(),
                          received.data(), MPI_COMM_WORLD);
          },
          of_pair};
}

/// Each rank has data for the next one only.
Operation sparse(int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<int> out(n), in(n), places;
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  out[static_cast<std::size_t>(next)] = in[static_cast<std::size_t>(before)] = 1;
  for (int i = 0; i < ranks; ++i) places.push_back(i);
  return {"alltoallv, one peer", false,
          [out, in, places](Blocks& from, Blocks& to) {
            MPI_Alltoallv(from.at(), out.data(), places.data(), from.type(), to.at(), in.data(), places.data(),
                          to.type(), MPI_COMM_WORLD);
          },
          [ranks](int a, int b) { return b == (a + 1) % ranks ? of_pair(a, b) : untouched; }};
}

}  // namespace

std::vector<Operation> operations(int rank, int ranks) {
  const auto of_all = [](int from, int) { return of_pair(from, 0); };
  return {{"alltoall", false, alltoall, of_pair},
          {"alltoall in place", false, alltoall_in_place, of_pair, true},
          {"ialltoall", false, ialltoall, of_pair},
          {"alltoall, pieces of 128", true, alltoall, of_pair},
          alltoallw(ranks),
          sparse(rank, ranks),
          {"allgather", false, allgather, of_all},
          {"iallgather", false, iallgather, of_all},
          {"gather", false, gather, [](int from, int to) { return to == root ? of_pair(from, 0) : untouched; }},
          {"scatter", false, scatter, [](int from, int to) { return from == root ? of_pair(from, to) : untouched; }}};
}

}  // namespace bench::collectives
