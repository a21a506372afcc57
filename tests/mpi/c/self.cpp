// Messages of a rank to itself: every pair of layouts, every order of calls, every mode, wildcards,
// probes, truncation, cancel, freed types and requests. Each rank does it alone, so one rank is
// enough; with more ranks, self messages run beside others. With CONTRACT_GPU the buffers are in
// every kind of memory too.
#include <memory>
#include <vector>

#include "peers.hpp"
#ifdef CONTRACT_GPU
#include "mirror.hpp"
#endif

namespace self_contract {

constexpr int tag = 5;
MPI_Comm comm = MPI_COMM_SELF;
int me = 0;  // this process' rank in comm

#ifdef CONTRACT_GPU
const std::vector<std::pair<Kind, Kind>> memories = {{Kind::device, Kind::device}, {Kind::device, Kind::host},
                                                     {Kind::host, Kind::device},   {Kind::managed, Kind::device},
                                                     {Kind::pool, Kind::pinned},   {Kind::device, Kind::other_device}};
#else
enum class Kind { host };
const char* name_of(Kind) { return "host"; }
const std::vector<std::pair<Kind, Kind>> memories = {{Kind::host, Kind::host}};
#endif

Bytes filled(Region& r, unsigned seed) {
  r.fill(seed);
  return r.packed();
}

// A region, and its memory if that is not the host's.
struct Side {
  Side(const Sample& sample, int n, Kind kind) : region(sample, n) { place(kind); }
  Side(MPI_Datatype type, const std::string& name, Kind kind) : region(type, 1, name) { place(kind); }
#ifdef CONTRACT_GPU
  void place(Kind kind) {
    if (kind != Kind::host && region.address != MPI_BOTTOM)
      mirror = std::make_unique<Mirror>(region, there(kind) ? kind : Kind::device);
  }
  void* address() { return mirror ? mirror->address() : region.address; }
  void write() {
    if (mirror) mirror->write();
  }
  void read_back() {
    if (mirror) mirror->read_back();
  }
  std::unique_ptr<Mirror> mirror;
#else
  void place(Kind) {}
  void* address() { return region.address; }
  void write() {}
  void read_back() {}
#endif
  void* fill(unsigned seed) {
    region.fill(seed);
    write();
    return address();
  }
  void* poison() {
    region.poison();
    write();
    return address();
  }
  void expect(const Bytes& packed, const std::string& what) {
    read_back();
    region.expect(packed, what);
  }
  Region region;
};

MPI_Datatype strided(int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }
MPI_Datatype blocks(int n) { return make::vector(n / 4, 4, 7, MPI_DOUBLE); }
MPI_Datatype plain(int n) { return make::contiguous(n, MPI_DOUBLE); }

MPI_Datatype made(int how, int n) { return how == 0 ? plain(n) : how == 1 ? strided(n) : blocks(n); }

Bytes expected(MPI_Datatype (*make)(int), int n, unsigned seed) {
  const Sample sample{make == plain ? "plain" : make == strided ? "strided" : "blocks", make};
  Region r(sample, n);
  return filled(r, seed);
}
Bytes expected_of(int how, int n, unsigned seed) {
  return how == 0 ? expected(plain, n, seed) : how == 1 ? expected(strided, n, seed) : expected(blocks, n, seed);
}

std::string title(const std::string& what, int n, int out, int in, Kind from, Kind to) {
  static const char* const layouts[] = {"plain", "strided", "blocks"};
  return "self, " + what + ", n " + std::to_string(n) + ", " + layouts[out] + " to " + layouts[in] + ", " +
         name_of(from) + " to " + name_of(to);
}

enum Order {
  irecv_send,
  irecv_isend_waitall,
  isend_irecv_waitall,
  wait_receive_first,
  wait_send_first,
  isend_recv,
  sendrecv,
  waitany,
  testsome,
  persistent,
  orders
};
const char* const order_names[] = {"Irecv Send Wait",
                                   "Irecv Isend Waitall",
                                   "Isend Irecv Waitall",
                                   "receive first",
                                   "send first",
                                   "Isend Recv Wait",
                                   "Sendrecv",
                                   "Waitany",
                                   "Testsome",
                                   "persistent"};

void exchange(Order order, Side& out, Side& in, const Mode& mode, unsigned seed, const std::string& what) {
  void *from = out.fill(seed), *to = in.poison();
  MPI_Request requests[2];
  const auto isend = [&](MPI_Request* r) {
    check_ok(mode.isend(from, out.region.count, out.region.type, me, tag, comm, r), what);
  };
  const auto irecv = [&](MPI_Request* r) {
    check_ok(MPI_Irecv(to, in.region.count, in.region.type, me, tag, comm, r), what);
  };
  MPI_Status statuses[2] = {blank_status(), blank_status()};
  MPI_Status& status = statuses[0];
  switch (order) {
    case irecv_send:
      irecv(requests);
      check_ok(mode.send(from, out.region.count, out.region.type, me, tag, comm), what);
      out.fill(seed + 1);  // the program's again
      check_ok(MPI_Wait(requests, &status), what);
      break;
    case irecv_isend_waitall:
      irecv(requests);
      isend(requests + 1);
      check_ok(MPI_Waitall(2, requests, statuses), what);
      break;
    case isend_irecv_waitall:
      isend(requests + 1);
      irecv(requests);
      check_ok(MPI_Waitall(2, requests, statuses), what);
      break;
    case wait_receive_first:
    case wait_send_first:
      irecv(requests);
      isend(requests + 1);
      check_ok(MPI_Wait(requests + (order == wait_send_first), order == wait_send_first ? MPI_STATUS_IGNORE : &status),
               what);
      if (order == wait_send_first) out.fill(seed + 1);
      check_ok(MPI_Wait(requests + (order != wait_send_first), order == wait_send_first ? &status : MPI_STATUS_IGNORE),
               what);
      break;
    case isend_recv:
      isend(requests);
      check_ok(MPI_Recv(to, in.region.count, in.region.type, me, tag, comm, &status), what);
      check_ok(MPI_Wait(requests, MPI_STATUS_IGNORE), what);
      break;
    case sendrecv:
      check_ok(MPI_Sendrecv(from, out.region.count, out.region.type, me, tag, to, in.region.count, in.region.type, me,
                            tag, comm, &status),
               what);
      break;
    case waitany: {
      irecv(requests);
      isend(requests + 1);
      int index = -1, other = -1;
      MPI_Status first = blank_status(), second = blank_status();
      check_ok(MPI_Waitany(2, requests, &index, &first), what);
      check_ok(MPI_Waitany(2, requests, &other, &second), what);
      check(index + other == 1, what + ", both indices");
      status = index == 0 ? first : second;
      break;
    }
    case testsome: {
      isend(requests + 1);
      irecv(requests);
      for (int left = 2; left > 0;) {
        int count = 0, indices[2];
        MPI_Status some[2];
        check_ok(MPI_Testsome(2, requests, &count, indices, some), what);
        for (int k = 0; k < count; ++k)
          if (indices[k] == 0) status = some[k];
        left -= count > 0 ? count : 0;
      }
      break;
    }
    case persistent:
      check_ok(MPI_Recv_init(to, in.region.count, in.region.type, me, tag, comm, requests), what);
      check_ok(mode.init(from, out.region.count, out.region.type, me, tag, comm, requests + 1), what);
      for (int turn = 0; turn < 3; ++turn) {
        out.fill(seed);
        in.poison();
        if (turn == 1) {
          check_ok(MPI_Startall(2, requests), what);
        } else {
          check_ok(MPI_Start(requests), what);
          check_ok(MPI_Start(requests + 1), what);
        }
        check_ok(MPI_Waitall(2, requests, statuses), what);
      }
      MPI_Request_free(requests);
      MPI_Request_free(requests + 1);
      break;
    case orders: break;
  }
  check_status(status, me, tag, in.region, what);
}

void every_order() {
  int turn = 0;
  for (int order = 0; order < orders; ++order)
    for (const auto& [from, to] : memories)
      for (const int n : {1, 40, 700, 9000, 40000})
        for (int out = 0; out < 3; ++out)
          for (int in = 0; in < 3; ++in) {
            if (n < 4 && (out == 2 || in == 2)) continue;
            const Mode& mode = modes[turn++ % 3];  // all but buffered ones
            // Each pair of memories meets each layout and each order, but not every length with all
            // of them.
            if (memories.size() > 1 && turn % 8 != 0) continue;
            if (mode.ready && order != irecv_send && order != irecv_isend_waitall) continue;
            const std::string what = title(std::string(order_names[order]) + ", " + mode.name, n, out, in, from, to);
            contract().section(what);
            Side source(made(out, n), "out", from), target(made(in, n), "in", to);
            exchange(Order(order), source, target, mode, unsigned(n + turn), what);
            target.expect(expected_of(out, n, unsigned(n + turn)), what);
          }
}

void every_type() {
  for (const auto& [from, to] : memories)
    for (const int n : {40, 9000, 60000})
      for (const Sample& sample : samples()) {
        // Every pair of memories meets every type once, and the first pair every length.
        if (n != 9000 && memories.front() != std::pair(from, to)) continue;
        if (sample.absolute && (from != Kind::host || to != Kind::host)) continue;
        const std::string what = std::string("self, type ") + sample.name + ", n " + std::to_string(n) + ", " +
                                 name_of(from) + " to " + name_of(to);
        contract().section(what);
        Side out(sample, n, from), in(sample, n, to);
        exchange(irecv_isend_waitall, out, in, modes[0], unsigned(n), what);
        Region sent(sample, n);
        in.expect(filled(sent, unsigned(n)), what);
      }
}

// Messages do not overtake each other, whatever way each takes; wildcards find the first.
void order_of_messages() {
  constexpr int messages = 300;
  for (const auto& [from, to] : memories) {
    const std::string what = std::string("self, many in order, ") + name_of(from) + " to " + name_of(to);
    contract().section(what);
    std::vector<std::unique_ptr<Side>> out, in;
    std::vector<MPI_Request> requests;
    const auto length = [](int i) { return i % 3 == 0 ? 16 : i % 3 == 1 ? 3000 : 6000; };
    for (int i = 0; i < messages; ++i) {
      out.push_back(std::make_unique<Side>(made(i % 3, length(i)), "out", from));
      in.push_back(std::make_unique<Side>(made((i + 1) % 3, 6000), "in", to));
      MPI_Request request;
      check_ok(MPI_Irecv(in.back()->poison(), 1, in.back()->region.type, i % 2 ? MPI_ANY_SOURCE : me,
                         i % 4 < 2 ? MPI_ANY_TAG : tag, comm, &request),
               what);
      requests.push_back(request);
    }
    for (int i = 0; i < messages; ++i) {
      MPI_Request request;
      check_ok(MPI_Isend(out[std::size_t(i)]->fill(unsigned(i)), 1, out[std::size_t(i)]->region.type, me, tag, comm,
                         &request),
               what);
      requests.push_back(request);
    }
    std::vector<MPI_Status> statuses(requests.size());
    check_ok(MPI_Waitall(int(requests.size()), requests.data(), statuses.data()), what);
    for (int i = 0; i < messages; ++i) {
      int bytes = 0;
      MPI_Get_count(&statuses[std::size_t(i)], MPI_PACKED, &bytes);
      const Bytes sent = expected_of(i % 3, length(i), unsigned(i));
      check_equal(bytes, int(sent.size()), what + ", count");
      in[std::size_t(i)]->read_back();
      const Bytes got = in[std::size_t(i)]->region.packed();
      check(std::equal(sent.begin(), sent.end(), got.begin()), what + ", bytes");
    }
  }
}

void probes() {
  for (const auto& [from, to] : memories)
    for (const int n : {40, 131, 700, 1600, 9000, 60000})  // 131 and 1600 have lengths that announcements have too
      for (int how = 0; how < 3; ++how) {
        const std::string what = title(how == 0 ? "Probe" : how == 1 ? "Iprobe" : "Improbe", n, 1, 2, from, to);
        contract().section(what);
        Side out(strided(n / 4 * 4), "out", from), in(blocks(n / 4 * 4), "in", to);
        MPI_Request request;
        check_ok(MPI_Isend(out.fill(unsigned(n)), 1, out.region.type, me, tag, comm, &request), what);
        MPI_Status status = blank_status();
        MPI_Message message = MPI_MESSAGE_NULL;
        int flag = 0;
        if (how == 0) check_ok(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status), what);
        while (how == 1 && !flag) MPI_Iprobe(me, tag, comm, &flag, &status);
        while (how == 2 && !flag) MPI_Improbe(me, tag, comm, &flag, &message, &status);
        check_status(status, me, tag, in.region, what);
        MPI_Status received = blank_status();
        if (how == 2)
          check_ok(MPI_Mrecv(in.poison(), 1, in.region.type, &message, &received), what);
        else
          check_ok(MPI_Recv(in.poison(), 1, in.region.type, me, tag, comm, &received), what);
        check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
        check_status(received, me, tag, in.region, what);
        in.expect(expected(strided, n / 4 * 4, unsigned(n)), what);
      }
}

// A receive with room for less is an error, and the next message is right.
void truncation() {
  for (const auto& [from, to] : memories)
    for (const auto& [n, room] : {std::pair{40000, 30000}, {40000, 1000}, {40000, 40}, {700, 600}})
      for (int round = 0; round < 2; ++round) {
        const std::string what = title("truncated to " + std::to_string(room), n, 1, 2, from, to);
        contract().section(what);
        Side out(strided(n), "out", from), in(blocks(room), "in", to), after(blocks(n), "after", to);
        MPI_Request requests[2];
        check_ok(MPI_Irecv(in.poison(), 1, in.region.type, me, tag, comm, requests), what);
        check_ok(MPI_Isend(out.fill(1), 1, out.region.type, me, tag, comm, requests + 1), what);
        check_class(MPI_Wait(requests, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, what);
        check_ok(MPI_Wait(requests + 1, MPI_STATUS_IGNORE), what);
        exchange(irecv_isend_waitall, out, after, modes[0], 2, what + ", the next message");
        after.expect(expected(strided, n, 2), what + ", the next message");
      }
}

// The type, the communicator and the request may be freed while a message is under way.
void freed_things() {
  for (const auto& [from, to] : memories)
    for (const int n : {40, 9000, 60000}) {
      const std::string what = title("freed type and communicator", n, 1, 2, from, to);
      contract().section(what);
      Side out(strided(n), "out", from), in(blocks(n), "in", to);
      MPI_Comm copy;
      MPI_Datatype sent, received;
      MPI_Comm_dup(comm, &copy);
      MPI_Type_dup(out.region.type, &sent);
      MPI_Type_dup(in.region.type, &received);
      MPI_Request requests[2];
      check_ok(MPI_Irecv(in.poison(), 1, received, me, tag, copy, requests), what);
      check_ok(MPI_Isend(out.fill(9), 1, sent, me, tag, copy, requests + 1), what);
      MPI_Type_free(&sent);
      MPI_Type_free(&received);
      MPI_Comm_free(&copy);
      check_ok(MPI_Request_free(requests + 1), what);
      check_ok(MPI_Wait(requests, MPI_STATUS_IGNORE), what);
      in.expect(expected(strided, n, 9), what);
    }
}

void cancelled() {
  for (const auto& [from, to] : memories)
    for (const int n : {40, 60000}) {
      const std::string what = title("cancelled", n, 1, 2, from, to);
      contract().section(what);
      Side out(strided(n), "out", from), in(blocks(n), "in", to);
      MPI_Request request;
      check_ok(MPI_Irecv(in.poison(), 1, in.region.type, me, tag, comm, &request), what);
      check_ok(MPI_Cancel(&request), what);
      MPI_Status status;
      int was = 0;
      check_ok(MPI_Wait(&request, &status), what);
      MPI_Test_cancelled(&status, &was);
      check(was, what + ", the receive");
      exchange(isend_irecv_waitall, out, in, modes[0], 3, what + ", the next message");
      in.expect(expected(strided, n, 3), what + ", the next message");
    }
}

CONTRACT_PROGRAM(self) {
  Contract c("self", &argc, &argv);
#ifdef CONTRACT_GPU
  devices();
#endif
  for (const bool world : {false, true}) {
    comm = world ? MPI_COMM_WORLD : MPI_COMM_SELF;
    MPI_Comm_rank(comm, &me);
    every_order();
    order_of_messages();
    probes();
    truncation();
  }
  every_type();
  freed_things();
  cancelled();
  return c.finish();
}

}  // namespace self_contract
