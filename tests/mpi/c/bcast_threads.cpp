// Broadcasts of several threads at once, each on a communicator of its own: nonblocking ones of
// many sizes and roots, under way together, blocking ones between them.
#include <thread>
#include <vector>

#include "contract.hpp"

namespace bcast_threads_contract {

constexpr int threads = 3, rounds = 40, together = 4;

void work(MPI_Comm comm, int thread) {
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::vector<double>> data;
    std::vector<MPI_Request> requests(together, MPI_REQUEST_NULL);
    const auto value = [&](int i) { return thread * 1e6 + round * 100 + i; };
    for (int i = 0; i < together; ++i) {
      const int root = (round + i) % contract().ranks, n = 1 + (round * 37 + i * 911) % 40000;
      data.emplace_back(size_t(n), contract().rank == root ? value(i) : -1);
      check_ok(MPI_Ibcast(data.back().data(), n, MPI_DOUBLE, root, comm, &requests[size_t(i)]), "MPI_Ibcast");
      double word = contract().rank == root ? value(i) : -1;
      if (i == 1) {
        check_ok(MPI_Bcast(&word, 1, MPI_DOUBLE, root, comm), "MPI_Bcast");
        check(word == value(i), "a blocking one");
      }
    }
    check_ok(MPI_Waitall(together, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    for (int i = 0; i < together; ++i)
      for (const double x : data[size_t(i)])
        if (x != value(i)) return check(false, "the data");
    check(true, "the data");
  }
}

CONTRACT_PROGRAM(bcast_threads) {
  Contract c("bcast_threads", &argc, &argv, MPI_THREAD_MULTIPLE);
  if (contract().provided < MPI_THREAD_MULTIPLE) {
    contract().skip("this MPI has no MPI_THREAD_MULTIPLE");
    return c.finish();
  }
  std::vector<MPI_Comm> comms(threads);
  for (auto& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) team.emplace_back(work, comms[size_t(t)], t);
  for (auto& thread : team) thread.join();
  for (auto& comm : comms) MPI_Comm_free(&comm);
  return c.finish();
}

}  // namespace bcast_threads_contract
