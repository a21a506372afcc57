// Neighbour collectives that are under way: several at a time, completed by every call, beside
// other messages, persistent ones in any order. On a periodic ring of ranks.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "surface.hpp"

namespace neighbours_under_way_contract {

constexpr int blocks = 200;  // of one double each, in messages of every other double

MPI_Datatype every_other() {
  MPI_Datatype type;
  MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE, &type);
  MPI_Datatype spread;
  MPI_Type_create_resized(type, 0, 2 * blocks * sizeof(double), &spread);
  MPI_Type_free(&type);
  MPI_Type_commit(&spread);
  return spread;
}

/// Doubles, in device memory with CONTRACT_GPU.
class Doubles {
 public:
  explicit Doubles(int n) : host_(std::size_t(n)) {
#ifdef CONTRACT_GPU
    device_ = std::make_unique<CudaMemory>(Kind::device, host_.size() * sizeof(double));
#endif
  }
  void* data() {
#ifdef CONTRACT_GPU
    return device_->data();
#else
    return host_.data();
#endif
  }
  void fill(double value) { put(std::vector<double>(host_.size(), value)); }
  void put(const std::vector<double>& values) {
    host_ = values;
#ifdef CONTRACT_GPU
    device_->write(host_.data());
#endif
  }
  const std::vector<double>& read() {
#ifdef CONTRACT_GPU
    const auto bytes = device_->read();
    std::memcpy(host_.data(), bytes.data(), bytes.size());
#endif
    return host_;
  }
  /// Whether every other double has that value, and those between have kept the other.
  bool holds(int message, double value, double between) {
    read();
    for (int i = 0; i < 2 * blocks; ++i)
      if (host_[std::size_t(2 * blocks * message + i)] != (i % 2 ? between : value)) return false;
    return true;
  }

 private:
  std::vector<double> host_;
#ifdef CONTRACT_GPU
  std::unique_ptr<CudaMemory> device_;
#endif
};

/// One rank's part of an allgather on the ring.
struct Gather {
  Doubles out{2 * blocks}, in{4 * blocks};
  double number = 0;

  void prepare(int round, int index) {
    number = 1000 * round + 100 * index;
    out.fill(number + contract().rank);
    in.fill(-1);
  }
  void check_data(const std::string& what) {
    const int me = contract().rank, n = contract().ranks;
    check(in.holds(0, number + (me + n - 1) % n, -1), what + ", from below");
    check(in.holds(1, number + (me + 1) % n, -1), what + ", from above");
  }
};

class Ring {
 public:
  Ring() {
    const int periodic = 1, n = contract().ranks;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    type = every_other();
  }
  ~Ring() {
    MPI_Type_free(&type);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void begin(Gather& gather, MPI_Request* request) {
    check_ok(MPI_Ineighbor_allgather(gather.out.data(), 1, type, gather.in.data(), 1, type, comm, request), "begin");
  }

  MPI_Comm comm;
  MPI_Datatype type;
};

using Requests = std::vector<MPI_Request>;
struct Way {
  const char* name;
  void (*complete)(Requests&);
};

const Way ways[] = {
    {"Waitall", [](Requests& all) { MPI_Waitall(int(all.size()), all.data(), MPI_STATUSES_IGNORE); }},
    {"Wait, the last first",
     [](Requests& all) {
       for (auto request = all.rbegin(); request != all.rend(); ++request) MPI_Wait(&*request, MPI_STATUS_IGNORE);
     }},
    {"Waitany",
     [](Requests& all) {
       for (int index = 0; index != MPI_UNDEFINED;) MPI_Waitany(int(all.size()), all.data(), &index, MPI_STATUS_IGNORE);
     }},
    {"Waitsome",
     [](Requests& all) {
       Ints indices(all.size());
       for (int n = 0; n != MPI_UNDEFINED;)
         MPI_Waitsome(int(all.size()), all.data(), &n, indices.data(), MPI_STATUSES_IGNORE);
     }},
    {"Test",
     [](Requests& all) {
       for (auto& request : all)
         for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
     }},
    {"Testall",
     [](Requests& all) {
       for (int done = 0; !done;) MPI_Testall(int(all.size()), all.data(), &done, MPI_STATUSES_IGNORE);
     }},
    {"Testany",
     [](Requests& all) {
       for (int index = 0, done = 0; !done || index != MPI_UNDEFINED;)
         MPI_Testany(int(all.size()), all.data(), &index, &done, MPI_STATUS_IGNORE);
     }},
    {"Testsome",
     [](Requests& all) {
       Ints indices(all.size());
       for (int n = 0; n != MPI_UNDEFINED;)
         MPI_Testsome(int(all.size()), all.data(), &n, indices.data(), MPI_STATUSES_IGNORE);
     }},
    {"Request_get_status",
     [](Requests& all) {
       for (auto& request : all) {
         for (int done = 0; !done;) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }
     }},
};

/// Five collectives, and a message to each neighbour, are completed together.
void together(Ring& ring, std::vector<Gather>& gathers) {
  const int me = contract().rank, n = contract().ranks;
  int round = 0;
  for (const auto& way : ways) {
    contract().section(way.name);
    ++round;
    for (std::size_t i = 0; i < gathers.size(); ++i) gathers[i].prepare(round, int(i));
    Requests requests;
    int from_below = -1;
    for (auto& gather : gathers) {
      ring.begin(gather, &requests.emplace_back());
      if (requests.size() != 2) continue;
      MPI_Irecv(&from_below, 1, MPI_INT, (me + n - 1) % n, 7, ring.comm, &requests.emplace_back());
      MPI_Isend(&me, 1, MPI_INT, (me + 1) % n, 7, ring.comm, &requests.emplace_back());
    }
    way.complete(requests);
    for (const auto request : requests) check(request == MPI_REQUEST_NULL, way.name + std::string(", request"));
    check_equal(from_below, (me + n - 1) % n, way.name + std::string(", message"));
    for (auto& gather : gathers) gather.check_data(way.name);
  }
}

/// Some ranks wait for their data before a barrier, and some after it.
void barrier_between(Ring& ring, std::vector<Gather>& gathers) {
  contract().section("barrier between");
  for (int round = 20; round < 23; ++round) {
    Requests requests(gathers.size());
    for (std::size_t i = 0; i < gathers.size(); ++i) {
      gathers[i].prepare(round, int(i));
      ring.begin(gathers[i], &requests[i]);
    }
    const bool first = (contract().rank + round) % 2;
    if (first) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    if (!first) MPI_Barrier(MPI_COMM_WORLD);
    for (auto& gather : gathers) gather.check_data("barrier between");
  }
}

void communicator_freed(Gather& gather) {
  contract().section("communicator freed");
  Ring ring;
  gather.prepare(30, 0);
  MPI_Request request;
  ring.begin(gather, &request);
  MPI_Comm_free(&ring.comm);
  check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "communicator freed");
  gather.check_data("communicator freed");
}

int heard = 0, heard_by_world = 0;
void hear(MPI_Comm*, int*, ...) { ++heard; }
void hear_by_world(MPI_Comm*, int*, ...) { ++heard_by_world; }

int complete_one(MPI_Request& request, bool by_test) {
  int done = 0, code = MPI_SUCCESS;
  if (!by_test) return MPI_Wait(&request, MPI_STATUS_IGNORE);
  while (!done && code == MPI_SUCCESS) code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return code;
}

/// Whether MPI_Wait of this MPI returns MPI_SUCCESS after the program's error handler has returned.
/// Only MPICH 5 does, and Dunnage does what the MPI does. The version tells: to look what MPI_Wait
/// does would show Dunnage's way.
bool handled_is_success() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, major = 0;
  PMPI_Get_library_version(version, &length);
  return std::sscanf(version, "MPICH Version: %d", &major) == 1 && major >= 5;
}

/// A neighbour's message is too long, or this rank's own on a ring of one. The call that completes
/// the collective returns the error. The handler of the communicator is called once, and that of
/// MPI_COMM_WORLD is not. The communicator goes on.
void too_long(MPI_Comm comm, const std::string& what) {
  if (!our_neighbours()) return;
  contract().section("too long, " + what);
  const int expected = handled_is_success() ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
  MPI_Errhandler handler, worlds;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_create_errhandler(hear_by_world, &worlds);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, worlds);
  for (int round = 0; round < 6; ++round) {
    const bool bad = round % 2 == 0, by_test = round / 2 % 2;
    std::vector<double> out(2, contract().rank), in(4, -1);
    heard = heard_by_world = 0;
    MPI_Request request;
    check_ok(MPI_Ineighbor_allgather(out.data(), 2, MPI_DOUBLE, in.data(), bad ? 1 : 2, MPI_DOUBLE, comm, &request),
             what + ", too long, begin");
    const int code = complete_one(request, by_test);
    check_class(code, bad ? expected : MPI_SUCCESS, what + ", too long");
    check_equal(heard, bad ? 1 : 0, what + ", too long, handler");
    check_equal(heard_by_world, 0, what + ", too long, another communicator's handler");
    check(request == MPI_REQUEST_NULL, what + ", too long, request");
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&worlds);
}

void too_long() {
  Ring ring;
  if (contract().ranks > 1) too_long(ring.comm, "ring");
  const int periodic = 1, one = 1;
  MPI_Comm alone;
  MPI_Cart_create(MPI_COMM_SELF, 1, &one, &periodic, 0, &alone);
  too_long(alone, "alone");
  MPI_Comm_free(&alone);
}

/// Only rank 1 cannot take what comes, and other neighbours are late. What they send later must not
/// be taken for that of the next collective.
void late_after_too_long() {
  if (!our_neighbours() || contract().ranks < 3) return;
  contract().section("late after too long");
  Ring ring;
  const int me = contract().rank, n = contract().ranks;
  for (int round = 0; round < 4; ++round) {
    const bool bad = round == 0 && me == 1;
    std::vector<int> out(2, 100 * round + me), in(4, -1);
    if (round == 0 && me == 2) usleep(100000);
    MPI_Request request;
    MPI_Ineighbor_allgather(out.data(), 2, MPI_INT, in.data(), bad ? 1 : 2, MPI_INT, ring.comm, &request);
    check_class(complete_one(request, true), bad ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "late after too long");
    if (bad) continue;
    check_equal(in[0], 100 * round + (me + n - 1) % n, "late after too long, from below");
    check_equal(in[2], 100 * round + (me + 1) % n, "late after too long, from above");
  }
}

/// Two edges from each rank to the next. What goes along the first is short and in host memory.
void several_edges() {
  contract().section("several edges");
  const int me = contract().rank, n = contract().ranks, next = (me + 1) % n, before = (me + n - 1) % n;
  const Ints sources{before, before}, targets{next, next}, ones{1, 1};
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources.data(), MPI_UNWEIGHTED, 2, targets.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  Doubles out(2 * blocks), in(2 * blocks);
  int short_out = 0, short_in = 0;
  const MPI_Datatype types[] = {MPI_INT, every_other()};
  const auto address = [](void* p) { return reinterpret_cast<MPI_Aint>(p); };
  const MPI_Aint from[] = {address(&short_out), address(out.data())}, to[] = {address(&short_in), address(in.data())};
  const auto prepare = [&](int round) {
    short_out = 10 * round + me;
    short_in = -1;
    out.fill(1000 * round + me);
    in.fill(-1);
  };
  const auto look = [&](int round, const std::string& what) {
    check_equal(short_in, 10 * round + before, "several edges, the first, " + what);
    check(in.holds(0, 1000 * round + before, -1), "several edges, the second, " + what);
  };
  for (int round = 1; round < 4; ++round) {
    prepare(round);
    MPI_Neighbor_alltoallw(MPI_BOTTOM, ones.data(), from, types, MPI_BOTTOM, ones.data(), to, types, comm);
    look(round, "blocking");
    prepare(round + 10);
    MPI_Request request;
    MPI_Ineighbor_alltoallw(MPI_BOTTOM, ones.data(), from, types, MPI_BOTTOM, ones.data(), to, types, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(round + 10, "nonblocking");
  }
#if MPI_VERSION >= 4
  MPI_Request request;
  MPI_Neighbor_alltoallw_init(MPI_BOTTOM, ones.data(), from, types, MPI_BOTTOM, ones.data(), to, types, comm,
                              MPI_INFO_NULL, &request);
  for (int round = 20; round < 24; ++round) {
    prepare(round);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(round, "persistent");
  }
  MPI_Request_free(&request);
#endif
  MPI_Datatype type = types[1];
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

/// From call to call something changes, while handles and addresses are used again: the layout, the
/// number of elements, the memory, or only the data. On a ring of each rank alone.
void arguments_change() {
  contract().section("arguments change");
  constexpr int room = 3 * blocks;
  const int periodic = 1, one = 1;
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_SELF, 1, &one, &periodic, 0, &comm);
  std::unique_ptr<Doubles> out, in;
  for (int round = 0; round < 24; ++round) {
    const int stride = 2 + round / 2 % 2, count = 1 + round / 4 % 2;
    if (round % 3 == 0) {
      in.reset();
      out = std::make_unique<Doubles>(2 * room);
      in = std::make_unique<Doubles>(4 * room);
    }
    std::vector<double> values(2 * room);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 10000 * (round + 1) + double(i);
    out->put(values);
    in->fill(-1);
    MPI_Datatype vector, type;
    MPI_Type_vector(blocks, 1, stride, MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, room * sizeof(double), &type);
    MPI_Type_commit(&type);
    check_ok(MPI_Neighbor_allgather(out->data(), count, type, in->data(), count, type, comm), "arguments change");
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
    const auto& there = in->read();
    bool right = true;
    for (int message = 0; message < 2; ++message)
      for (int i = 0; i < count * room; ++i) {
        const bool sent = i % room % stride == 0 && i % room / stride < blocks;
        right = right && there[std::size_t(message * count * room + i)] == (sent ? values[std::size_t(i)] : -1);
      }
    check(right, "arguments change, data, round " + std::to_string(round));
  }
  MPI_Comm_free(&comm);
}

/// Some MPIs pack a type with a negative extent in an order of their own. Kernels leave it alone.
/// First it has no data, and then it has, at one address with one count.
void strange_type_changes() {
  contract().section("strange type changes");
  const int me = contract().rank;
  const Ints self{me, me}, ones{1, 1};
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, self.data(), MPI_UNWEIGHTED, 2, self.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  Doubles out(4 * blocks), in(4 * blocks);
  out.fill(2);
  in.fill(-1);
  const MPI_Aint places[] = {0, MPI_Aint(3 * blocks * sizeof(double))};
  for (const int length : {0, 1}) {
    MPI_Datatype element, back, strange;
    MPI_Type_contiguous(length, MPI_DOUBLE, &element);
    MPI_Type_create_resized(element, 0, -16, &back);
    MPI_Type_vector(2, 1, 1, back, &strange);
    MPI_Type_commit(&strange);
    MPI_Datatype types[] = {every_other(), strange};
    MPI_Neighbor_alltoallw(out.data(), ones.data(), places, types, in.data(), ones.data(), places, types, comm);
    const auto& there = in.read();
    check_equal(there[3 * blocks], length ? 2 : -1, "strange type changes");
    for (auto* type : {&types[0], &strange, &back, &element}) MPI_Type_free(type);
  }
  MPI_Comm_free(&comm);
}

#if MPI_VERSION >= 4
/// Persistent collectives match in the order in which they were made. They may be started in
/// another order, which differs from rank to rank; not every MPI's own can do that.
void persistent(Ring& ring, std::vector<Gather>& gathers) {
  contract().section("persistent");
  Requests requests(gathers.size());
  for (std::size_t i = 0; i < gathers.size(); ++i)
    check_ok(MPI_Neighbor_allgather_init(gathers[i].out.data(), 1, ring.type, gathers[i].in.data(), 1, ring.type,
                                         ring.comm, MPI_INFO_NULL, &requests[i]),
             "persistent, init");
  for (int round = 50; round < 56; ++round) {
    for (std::size_t i = 0; i < gathers.size(); ++i) gathers[i].prepare(round, int(i));
    if (round % 3 == 0) {
      MPI_Startall(int(requests.size()), requests.data());
    } else {
      const bool backwards = our_neighbours() && (contract().rank + round) % 2;
      for (std::size_t i = 0; i < requests.size(); ++i) MPI_Start(&requests[backwards ? requests.size() - 1 - i : i]);
    }
    if (round % 2)
      MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    else
      for (auto& request : requests)
        for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    for (const auto request : requests) check(request != MPI_REQUEST_NULL, "persistent, request");
    for (auto& gather : gathers) gather.check_data("persistent");
  }
  // An inactive request is complete, and may be freed.
  check_ok(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), "persistent, inactive");
  for (auto& request : requests) check_ok(MPI_Request_free(&request), "persistent, free");
}

void persistent_outlives_communicator(Gather& gather) {
  contract().section("persistent outlives its communicator");
  if (!our_neighbours()) return;
  Ring ring;
  MPI_Request request;
  MPI_Neighbor_allgather_init(gather.out.data(), 1, ring.type, gather.in.data(), 1, ring.type, ring.comm, MPI_INFO_NULL,
                              &request);
  MPI_Comm_free(&ring.comm);
  for (int round = 60; round < 62; ++round) {
    gather.prepare(round, 0);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    gather.check_data("persistent outlives its communicator");
  }
  MPI_Request_free(&request);
}
#endif

CONTRACT_PROGRAM(neighbours_under_way) {
  Contract contract("neighbours_under_way", &argc, &argv);
  std::vector<Gather> gathers(5);
  {
    Ring ring;
    together(ring, gathers);
    barrier_between(ring, gathers);
#if MPI_VERSION >= 4
    persistent(ring, gathers);
#endif
  }
  communicator_freed(gathers[0]);
  arguments_change();
  strange_type_changes();
  too_long();
  late_after_too_long();
  several_edges();
#if MPI_VERSION >= 4
  persistent_outlives_communicator(gathers[0]);
#endif
  return contract.finish();
}

}  // namespace neighbours_under_way_contract
