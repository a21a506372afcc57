// Neighbour collectives that are under way: several at a time, completed by every call, beside
// other messages, persistent ones in any order. On a periodic ring of ranks.
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

int heard = 0;
void hear(MPI_Comm*, int*, ...) { ++heard; }

/// The call that completes the collective returns the error, and the communicator goes on.
void too_long(Ring& ring, Gather& gather) {
  if (!our_neighbours() || contract().ranks < 2) return;
  contract().section("too long");
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(ring.comm, handler);
  heard = 0;
  std::vector<double> out(2, 1), in(2, -1);
  MPI_Request request;
  check_ok(MPI_Ineighbor_allgather(out.data(), 2, MPI_DOUBLE, in.data(), 1, MPI_DOUBLE, ring.comm, &request),
           "too long, begin");
  check_class(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "too long");
  check_equal(heard, 1, "too long, handler");
  MPI_Comm_set_errhandler(ring.comm, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  gather.prepare(40, 0);
  ring.begin(gather, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  gather.check_data("after too long");
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
    too_long(ring, gathers[0]);
#if MPI_VERSION >= 4
    persistent(ring, gathers);
#endif
  }
  communicator_freed(gathers[0]);
  arguments_change();
#if MPI_VERSION >= 4
  persistent_outlives_communicator(gathers[0]);
#endif
  return contract.finish();
}

}  // namespace neighbours_under_way_contract
