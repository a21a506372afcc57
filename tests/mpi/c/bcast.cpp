// MPI_Bcast: every root, layouts that differ from rank to rank, communicators that come and go, and
// messages that are under way meanwhile. DUNNAGE_BCAST=window takes a communicator's broadcasts
// from the fourth on, so each case is done often enough.
#include "doubles.hpp"
#include "samples.hpp"

namespace bcast_contract {

constexpr int again = 6;

int world_size() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

/// One broadcast, with the bytes checked on all ranks.
void one(MPI_Comm comm, int root, int n, unsigned seed, const std::string& what) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Region data(doubles(unsigned(rank), n), 1, "data"), sent(make::contiguous(n, MPI_DOUBLE), 1, "sent");
  sent.fill(seed);
  const Bytes expected = sent.packed();
  data.poison();
  if (rank == root) oracle_unpack(data.map(), expected, data.origin());
  check_ok(MPI_Bcast(data.address, 1, data.type, root, comm), what);
  data.expect(expected, what);
}

void all_roots(MPI_Comm comm, const std::string& name) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  unsigned seed = 0;
  for (const int n : {1, 3, 1000, 4095, 4096, 4097, 300000})
    for (int root = 0; root < ranks; ++root)
      for (int i = 0; i < (n > 100000 ? 2 : again); ++i) {
        const auto what =
            name + ", root " + std::to_string(root) + ", n " + std::to_string(n) + ", broadcast " + std::to_string(i);
        contract().section(what);
        one(comm, root, n, ++seed, what);
      }
  for (int i = 0; i < again; ++i) check_ok(MPI_Bcast(nullptr, 0, MPI_INT, 0, comm), name + ", nothing");
}

void communicators_come_and_go() {
  for (int k = 0; k < 40; ++k) {
    MPI_Comm comm;
    if (k % 2)
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
      MPI_Comm_split(MPI_COMM_WORLD, contract().rank % (1 + k % 3), -contract().rank, &comm);
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < again; ++i)
      one(comm, (i + k) % ranks, 500, unsigned(k * 10 + i), "communicator " + std::to_string(k));
    MPI_Comm_free(&comm);
  }
}

/// A message that needs its sender, who is in a broadcast that needs the receiver first.
void messages_go_on() {
  constexpr int n = 500000;
  const int ranks = world_size();
  if (ranks < 2) return;
  for (int i = 0; i < again; ++i) {
    const std::string what = "a message under way, " + std::to_string(i);
    contract().section(what);
    std::vector<int> out(n, 100 + i), in(n, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    int word = contract().rank == 1 ? i : -1;
    // One to itself, which is found by whoever looks for messages, beside it.
    int to_itself = i, from_itself = -1;
    MPI_Request itself = MPI_REQUEST_NULL;
    if (contract().rank == 0) {
      MPI_Isend(&to_itself, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &itself);
      MPI_Isend(out.data(), n, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    }
    if (contract().rank == 1) {
      MPI_Recv(in.data(), n, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(in == std::vector<int>(n, 100 + i), what);
    }
    check_ok(MPI_Bcast(&word, 1, MPI_INT, 1, MPI_COMM_WORLD), what);
    check(word == i, what + ", the broadcast");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (contract().rank != 0) continue;
    MPI_Recv(&from_itself, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&itself, MPI_STATUS_IGNORE);
    check(from_itself == i, what + ", to itself");
  }
}

/// What is counted and described differently is the same message.
void other_counts() {
  for (int i = 0; i < again; ++i) {
    std::vector<int> values(120, contract().rank == 0 ? i : -1);
    MPI_Datatype row = make::contiguous(12, MPI_INT);
    MPI_Type_commit(&row);
    check_ok(contract().rank % 2 ? MPI_Bcast(values.data(), 10, row, 0, MPI_COMM_WORLD)
                                 : MPI_Bcast(values.data(), 120, MPI_INT, 0, MPI_COMM_WORLD),
             "other counts");
    check(values == std::vector<int>(120, i), "other counts");
    MPI_Type_free(&row);
  }
}

void bad_arguments() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < again; ++i) {
    int word = 0;
    check(MPI_Bcast(&word, 1, MPI_INT, world_size(), comm) != MPI_SUCCESS, "a root that is none");
    check(MPI_Bcast(&word, -1, MPI_INT, 0, comm) != MPI_SUCCESS, "a count below 0");
    check(MPI_Bcast(&word, 1, MPI_DATATYPE_NULL, 0, comm) != MPI_SUCCESS, "no datatype");
  }
  MPI_Comm_free(&comm);
}

CONTRACT_PROGRAM(bcast) {
  Contract c("bcast", &argc, &argv);
  all_roots(MPI_COMM_WORLD, "world");
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, contract().rank % 2, -contract().rank, &comm);
  all_roots(comm, "half");
  MPI_Comm_free(&comm);
  communicators_come_and_go();
  messages_go_on();
  other_counts();
  bad_arguments();
  all_roots(MPI_COMM_SELF, "self");
  return c.finish();
}

}  // namespace bcast_contract
