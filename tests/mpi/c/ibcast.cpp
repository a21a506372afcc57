// MPI_Ibcast and MPI_Bcast_init: every root, layouts that differ from rank to rank, many under way
// at once that each rank completes in an order and by calls of its own, ranks that do something
// else meanwhile, blocking broadcasts between them.
#include <numeric>
#include <random>

#include "doubles.hpp"
#include "samples.hpp"

// Open MPI 5 has them, and calls itself MPI 3.
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define CONTRACT_PERSISTENT_COLLECTIVES 1
#else
#define CONTRACT_PERSISTENT_COLLECTIVES 0
#endif

namespace ibcast_contract {

/// One broadcast's buffer on this rank, and what is to be there in the end.
class Message {
 public:
  Message(MPI_Comm comm, int root, int n) : comm_(comm), root_(root), n_(n) {
    MPI_Comm_rank(comm, &rank_);
    data_ = std::make_unique<Region>(doubles(unsigned(rank_), n), 1, "data");
  }
  void fill(unsigned seed) {
    Region sent(make::contiguous(n_, MPI_DOUBLE), 1, "sent");
    sent.fill(seed);
    expected_ = sent.packed();
    data_->poison();
    if (rank_ == root_) oracle_unpack(data_->map(), expected_, data_->origin());
  }
  MPI_Request begin() {
    MPI_Request request = MPI_REQUEST_NULL;
    check_ok(MPI_Ibcast(data_->address, 1, data_->type, root_, comm_, &request), "MPI_Ibcast");
    return request;
  }
#if CONTRACT_PERSISTENT_COLLECTIVES
  MPI_Request init() {
    MPI_Request request = MPI_REQUEST_NULL;
    check_ok(MPI_Bcast_init(data_->address, 1, data_->type, root_, comm_, MPI_INFO_NULL, &request), "MPI_Bcast_init");
    return request;
  }
#endif
  void expect(const std::string& what) { data_->expect(expected_, what); }
  Region& data() { return *data_; }

 private:
  const MPI_Comm comm_;
  const int root_, n_;
  int rank_ = 0;
  std::unique_ptr<Region> data_;
  Bytes expected_;
};

int size_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

const std::vector<int> lengths{1, 3, 1000, 4095, 4096, 4097, 70000};

void all_roots(MPI_Comm comm, const std::string& name) {
  unsigned seed = 0;
  for (const int n : lengths)
    for (int root = 0; root < size_of(comm); ++root) {
      const auto what = name + ", root " + std::to_string(root) + ", n " + std::to_string(n);
      contract().section(what);
      Message message(comm, root, n);
      message.fill(++seed);
      MPI_Request request = message.begin();
      MPI_Status status;
      check_ok(MPI_Wait(&request, &status), what);
      check(request == MPI_REQUEST_NULL, what + ", the request");
      message.expect(what);
    }
  MPI_Request request = MPI_REQUEST_NULL;
  check_ok(MPI_Ibcast(nullptr, 0, MPI_INT, 0, comm, &request), name + ", nothing");
  check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name + ", nothing");
}

/// Completes all, by calls that the round and the rank choose. MPICH 4.0 takes inactive persistent
/// requests for ended ones in some calls, which are left out for those.
void complete(std::vector<MPI_Request>& requests, std::mt19937& chance, bool persistent = false) {
  const auto n = static_cast<int>(requests.size());
  std::vector<int> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), chance);
  switch (chance() % (persistent ? 4 : 6)) {
    case 0: check_ok(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall"); return;
    case 1:
      for (const int i : order) check_ok(MPI_Wait(&requests[size_t(i)], MPI_STATUS_IGNORE), "MPI_Wait");
      return;
    case 4:
      for (int k = 0; k < n; ++k) {
        int index = -1;
        check_ok(MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE), "MPI_Waitany");
        check(index >= 0 && index < n, "MPI_Waitany, the index");
      }
      return;
    case 2:
      for (const int i : order)
        for (int done = 0; !done;) check_ok(MPI_Test(&requests[size_t(i)], &done, MPI_STATUS_IGNORE), "MPI_Test");
      return;
    case 5: {
      std::vector<int> indices(requests.size());
      for (int left = n; left > 0;) {
        int some = 0;
        check_ok(MPI_Testsome(n, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE), "MPI_Testsome");
        if (some == MPI_UNDEFINED) break;
        left -= some;
      }
      return;
    }
    default:  // 3
      for (const int i : order) {
        for (int done = 0; !done;)
          check_ok(MPI_Request_get_status(requests[size_t(i)], &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
        check_ok(MPI_Wait(&requests[size_t(i)], MPI_STATUS_IGNORE), "MPI_Wait");
      }
  }
}

void many_at_once(MPI_Comm comm, const std::string& name) {
  std::mt19937 chance(unsigned(contract().rank) + 7);  // its own on each rank
  for (unsigned round = 0; round < 12; ++round) {
    const auto what = name + ", many at once, " + std::to_string(round);
    contract().section(what);
    std::vector<Message> messages;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < 12; ++i) {
      messages.emplace_back(comm, (i + int(round)) % size_of(comm),
                            lengths[size_t(i * 5 + int(round)) % lengths.size()]);
      messages.back().fill(round * 100 + unsigned(i));
    }
    for (size_t i = 0; i < messages.size(); ++i) {
      requests.push_back(messages[i].begin());
      if (i % 4 == round % 4) {  // in order with those that block
        int word = contract().rank == 0 ? int(round) : -1;
        check_ok(MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD), what);
        check(word == int(round), what + ", a blocking one");
      }
    }
    complete(requests, chance);
    for (auto& message : messages) message.expect(what);
  }
}

/// The root is done before the others complete anything: what they wait for it sends later.
void the_root_goes_on(MPI_Comm comm) {
  constexpr int n = 70000, tag = 9;
  for (int root = 0; root < size_of(comm); ++root) {
    const auto what = "the root goes on, " + std::to_string(root);
    contract().section(what);
    Message message(comm, root, n);
    message.fill(unsigned(root) + 50);
    MPI_Request request = message.begin();
    int word = -1;
    if (contract().rank == root) {
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
      message.expect(what);
      message.data().poison();  // it is the program's again
      for (int r = 0; r < size_of(comm); ++r)
        if (r != root) MPI_Send(&root, 1, MPI_INT, r, tag, comm);
      continue;
    }
    MPI_Recv(&word, 1, MPI_INT, root, tag, comm, MPI_STATUS_IGNORE);
    check(word == root, what + ", the word");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
    message.expect(what);
  }
}

#ifdef OPEN_MPI  // 4.1 crashes, with five ranks, where the communicator of what is under way is freed
constexpr bool communicators_end_early = false;
#else
constexpr bool communicators_end_early = true;
#endif

/// Nothing that is under way needs its datatype or its communicator.
void handles_end_early() {
  constexpr int n = 20000;
  for (int i = 0; i < 6; ++i) {
    contract().section("handles end early");
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<double> data(2 * n, -1);
    if (contract().rank == 0)
      for (int k = 0; k < n; ++k) data[size_t(2 * k)] = k + i;
    MPI_Datatype type = make::vector(n, 1, 2, MPI_DOUBLE);
    MPI_Type_commit(&type);
    MPI_Request request = MPI_REQUEST_NULL;
    check_ok(MPI_Ibcast(data.data(), 1, type, 0, comm, &request), "handles end early");
    MPI_Type_free(&type);
    if (communicators_end_early) MPI_Comm_free(&comm);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "handles end early");
    if (!communicators_end_early) MPI_Comm_free(&comm);
    bool right = true;
    for (int k = 0; k < n; ++k) right = right && data[size_t(2 * k)] == k + i && data[size_t(2 * k + 1)] == -1;
    check(right, "handles end early, the data");
  }
}

/// So much that a root must be held back at some time.
void a_root_ahead() {
  constexpr int n = 1 << 21;  // 16 MiB
  std::vector<double> data(n);
  for (int i = 0; i < 20; ++i) {
    const auto what = "a root ahead, " + std::to_string(i);
    contract().section(what);
    data.front() = data[n / 2] = data.back() = contract().rank == 0 ? i : -1;
    MPI_Request request = MPI_REQUEST_NULL;
    check_ok(MPI_Ibcast(data.data(), n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request), what);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
    check(data.front() == i && data[n / 2] == i && data.back() == i, what);
  }
}

void persistent(MPI_Comm comm, const std::string& name) {
#if CONTRACT_PERSISTENT_COLLECTIVES
  std::mt19937 chance(unsigned(contract().rank) + 70);
  std::vector<Message> messages;
  std::vector<MPI_Request> requests;
  for (int i = 0; i < 8; ++i) {
    messages.emplace_back(comm, i % size_of(comm), lengths[size_t(i) % lengths.size()]);
    requests.push_back(messages.back().init());
  }
  const auto all = requests;
  for (unsigned round = 0; round < 8; ++round) {
    const auto what = name + ", persistent, " + std::to_string(round);
    contract().section(what);
    for (size_t i = 0; i < messages.size(); ++i) messages[i].fill(round * 10 + unsigned(i) + 1000);
    if (round % 2)
      check_ok(MPI_Startall(int(requests.size()), requests.data()), what);
    else
      for (auto& request : requests) check_ok(MPI_Start(&request), what);
    complete(requests, chance, true);
    check(requests == all, what + ", the requests");
    for (auto& message : messages) message.expect(what);
  }
  for (auto& request : requests) check_ok(MPI_Request_free(&request), name + ", freeing what was persistent");
#else
  (void)comm;
  contract().skip("this MPI has no MPI_Bcast_init: " + name);
#endif
}

void bad_arguments() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int word = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(&word, 1, MPI_INT, size_of(comm), comm, &request) != MPI_SUCCESS, "a root that is none");
  check(MPI_Ibcast(&word, -1, MPI_INT, 0, comm, &request) != MPI_SUCCESS, "a count below 0");
  check(MPI_Ibcast(&word, 1, MPI_DATATYPE_NULL, 0, comm, &request) != MPI_SUCCESS, "no datatype");
  MPI_Comm_free(&comm);
}

CONTRACT_PROGRAM(ibcast) {
  Contract c("ibcast", &argc, &argv);
  all_roots(MPI_COMM_WORLD, "world");
  many_at_once(MPI_COMM_WORLD, "world");
  the_root_goes_on(MPI_COMM_WORLD);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, contract().rank % 2, -contract().rank, &comm);
  all_roots(comm, "half");
  many_at_once(comm, "half");
  persistent(comm, "half");
  MPI_Comm_free(&comm);
  handles_end_early();
  a_root_ahead();
  persistent(MPI_COMM_WORLD, "world");
  bad_arguments();
  all_roots(MPI_COMM_SELF, "self");
  return c.finish();
}

}  // namespace ibcast_contract
