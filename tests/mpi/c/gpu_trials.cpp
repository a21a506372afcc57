// Collectives on device memory that come again and again: some of the calls are done by the MPI and
// some by Dunnage, to find out who is faster. The bytes are right in all of them.
#include "device_doubles.hpp"
#include "surface.hpp"

namespace gpu_trials_contract {

constexpr int calls = 140;  // the ranks ask each other at calls 1, 2, 4 and so on up to 128

/// The collectives. Rank r has `number(call, r) + i / 8192` as value i of its data.
enum class What { alltoall, allgather, alltoallv, gather, scatter };
constexpr const char* names[] = {"alltoall", "allgather", "alltoallv", "gather", "scatter"};

double number(int call, int rank) { return 1000 * call + 10 * rank; }

/// How a call is made. The ranks try each other only in blocking ones.
enum class Form { blocking, nonblocking };

int call_of(What what, Form form, double* in, double* out, int n, int root) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<int> counts(std::size_t(ranks), n), places;
  for (int r = 0; r < ranks; ++r) places.push_back(r * n);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto comm = MPI_COMM_WORLD;
  const bool now = form == Form::blocking;
  int code = MPI_SUCCESS;
  switch (what) {
    case What::alltoall:
      code = now ? MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, comm)
                 : MPI_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, comm, &request);
      break;
    case What::allgather:
      code = now ? MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, comm)
                 : MPI_Iallgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, comm, &request);
      break;
    case What::alltoallv:
      code = now ? MPI_Alltoallv(in, counts.data(), places.data(), MPI_DOUBLE, out, counts.data(), places.data(),
                                 MPI_DOUBLE, comm)
                 : MPI_Ialltoallv(in, counts.data(), places.data(), MPI_DOUBLE, out, counts.data(), places.data(),
                                  MPI_DOUBLE, comm, &request);
      break;
    case What::gather:
      code = now ? MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, comm)
                 : MPI_Igather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, comm, &request);
      break;
    case What::scatter:
      code = now ? MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, comm)
                 : MPI_Iscatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, comm, &request);
      break;
  }
  return now || code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// What rank `rank` must have afterwards at value `i`, or -1 if nothing comes there.
double expected(What what, int call, int rank, int root, int n, int ranks, int i) {
  const int source = i / n, j = i % n;
  const auto value = [&](int from, int at) { return number(call, from) + double(at) / 8192; };
  switch (what) {
    case What::alltoall:
    case What::alltoallv: return source < ranks ? value(source, rank * n + j) : -1;
    case What::allgather: return source < ranks ? value(source, j) : -1;
    case What::gather: return rank == root && source < ranks ? value(source, j) : -1;
    case What::scatter: return i < n ? value(root, rank * n + j) : -1;
  }
  return -1;
}

/// `later`: the count in every second group of 13 calls.
void again_and_again(What what, int first, int later) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string name =
      std::string(names[int(what)]) + " of " + std::to_string(first) + " and " + std::to_string(later);
  contract().section(name);
  const int most = std::max(first, later);
  Doubles in(Kind::device, most * ranks), out(Kind::device, most * ranks);
  for (int call = 0; call < calls; ++call) {
    const int root = call / 3 % ranks, n = call / 13 % 2 == 0 ? first : later;
    in.count_from(number(call, rank));
    out.fill(-1);
    const auto form = call % 10 == 9 ? Form::nonblocking : Form::blocking;
    const auto which = name + ", call " + std::to_string(call);
    check_ok(call_of(what, form, in.data(), out.data(), n, root), which);
    const auto& got = out.read();
    bool right = true;
    for (int i = 0; i < most * ranks; ++i)
      right = right && got[std::size_t(i)] == expected(what, call, rank, root, n, ranks, i);
    check(right, which);
  }
}

CONTRACT_PROGRAM(trials) {
  Contract c("trials", &argc, &argv);
  for (const auto what : {What::alltoall, What::allgather, What::alltoallv, What::gather, What::scatter})
    for (const int n : {3, 4000}) again_and_again(what, n, n);
  again_and_again(What::alltoallv, 4000, 3);
  return c.finish();
}

}  // namespace gpu_trials_contract
