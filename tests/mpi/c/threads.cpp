// MPI_THREAD_MULTIPLE: threads that make, use and free types and exchange strided messages at once.
#include <atomic>
#include <thread>

#include "peers.hpp"

namespace threads_contract {

constexpr int kThreads = 4, kRounds = 40;

MPI_Datatype some_type(int thread, int round, int n) {
  switch ((thread + round) % 4) {
    case 0: return make::vector(n, 1, 2, MPI_DOUBLE);
    case 1: return irregular(n, false);
    case 2: return make::hvector(n, 1, -24, MPI_DOUBLE);
    default: return make::subarray({n, 5}, {n, 2}, {0, 2}, MPI_ORDER_C, MPI_INT);
  }
}

// One thread of each rank of the pair, on its own communicator or with its own tag.
void work(int thread, MPI_Comm comm, int tag, const Pair& p) {
  const std::string what =
      comm == MPI_COMM_WORLD ? "threads with their own tags" : "threads with their own communicators";
  for (int round = 0; round < kRounds; ++round) {
    const int n = round % 10 == 9 ? 30000 : 5 + 37 * (round % 7);
    Region in(some_type(thread, round, n), 1, "a thread's"), out(some_type(thread, round, n), 1, "a thread's");
    out.fill(seed_of(p.rank * 100 + thread, round));
    MPI_Request request[2];
    MPI_Irecv(in.address, 1, in.type, p.peer, tag, comm, &request[0]);
    MPI_Isend(out.address, 1, out.type, p.peer, tag, comm, &request[1]);
    if (round % 2) {  // freed while pending, and another made
      MPI_Type_free(&in.type);
      MPI_Datatype other = some_type(thread, round + 1, n);
      MPI_Type_commit(&other);
      MPI_Type_free(&other);
    }
    check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), what);
    out.fill(seed_of(p.peer * 100 + thread, round));
    in.expect(out.packed(), what + ", bytes");

    Bytes packed(out.size());
    int position = 0;
    check_ok(MPI_Pack(out.address, 1, out.type, packed.data(), out.size(), &position, comm), what + ", pack");
    check(packed == out.packed(), what + ", pack");
  }
}

// A second commit of a committed type changes nothing, not even while others use the type.
void committed_again() {
  contract().section("a type committed again while it is packed");
  constexpr int n = 500;
  MPI_Datatype type = make::vector(n, 1, 2, MPI_DOUBLE);
  MPI_Type_commit(&type);
  std::vector<double> from(2 * n), to(n);
  for (int i = 0; i < 2 * n; ++i) from[i] = i;
  std::atomic<bool> over{false};
  std::thread committer([&] {
    while (!over) {
      MPI_Datatype again = type, predefined = MPI_DOUBLE;
      MPI_Type_commit(&again);
      MPI_Type_commit(&predefined);
    }
  });
  bool right = true;
  for (int round = 0; round < 20000; ++round) {
    int position = 0;
    MPI_Pack(from.data(), 1, type, to.data(), n * 8, &position, MPI_COMM_SELF);
    right = right && position == n * 8 && to[n - 1] == 2 * (n - 1);
  }
  over = true;
  committer.join();
  check(right, "a type committed again while it is packed");
  MPI_Type_free(&type);
}

CONTRACT_PROGRAM(threads) {
  Contract c("threads", &argc, &argv, MPI_THREAD_MULTIPLE);
  if (c.provided < MPI_THREAD_MULTIPLE) {
    c.skip("the MPI provides thread level " + std::to_string(c.provided) + " only");
    return c.finish();
  }
  const Pair p;
  MPI_Comm own[kThreads];
  for (MPI_Comm& comm : own) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  for (bool shared : {false, true}) {
    c.section(shared ? "one communicator" : "own communicators");
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads && p.active; ++t)
      threads.emplace_back([&, t] { work(t, shared ? MPI_COMM_WORLD : own[t], 10 + t, p); });
    for (std::thread& t : threads) t.join();
  }
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
  committed_again();
  return c.finish();
}

}  // namespace threads_contract
