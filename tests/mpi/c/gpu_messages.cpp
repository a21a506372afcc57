// Point-to-point messages whose buffers are in a GPU's memory, on either side or both: every kind
// of memory, every type, every mode. Crashes on an MPI that knows nothing of GPUs.
#include <chrono>
#include <memory>

#include "mirror.hpp"
#include "peers.hpp"
#include "random_type.hpp"

namespace gpu_messages_contract {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int tag = 6;

enum class How { blocking, nonblocking, persistent };
const char* const how_names[] = {"", ", nonblocking", ", persistent"};

enum class Take { recv, irecv, mrecv, imrecv, persistent, wildcards };
const char* const take_names[] = {"Recv", "Irecv", "Mrecv", "Imrecv", "Recv_init", "Recv from anyone"};

void send(void* buffer, const Region& r, const Mode& mode, How how, int peer, const std::string& what) {
  MPI_Request request;
  switch (how) {
    case How::blocking: check_ok(mode.send(buffer, r.count, r.type, peer, tag, world), what); return;
    case How::nonblocking: check_ok(mode.isend(buffer, r.count, r.type, peer, tag, world, &request), what); break;
    case How::persistent:
      check_ok(mode.init(buffer, r.count, r.type, peer, tag, world, &request), what);
      check_ok(MPI_Start(&request), what);
      break;
  }
  check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ", wait");
  if (how == How::persistent) MPI_Request_free(&request);
}

void receive(void* buffer, const Region& r, Take take, bool ready, int peer, const std::string& what) {
  MPI_Status status = blank_status();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  switch (take) {
    case Take::recv:
    case Take::wildcards: {
      const bool any = take == Take::wildcards;
      if (any) {
        check_ok(MPI_Probe(MPI_ANY_SOURCE, tag, world, &status), what + ", probe");
        check_status(status, peer, tag, r, what + ", probed");
      }
      check_ok(MPI_Recv(buffer, r.count, r.type, any ? MPI_ANY_SOURCE : peer, any ? MPI_ANY_TAG : tag, world, &status),
               what);
      check_status(status, peer, tag, r, what);
      return;
    }
    case Take::mrecv:
    case Take::imrecv:
      check_ok(MPI_Mprobe(peer, tag, world, &message, &status), what + ", probe");
      check_status(status, peer, tag, r, what + ", probed");
      if (take == Take::mrecv) {
        check_ok(MPI_Mrecv(buffer, r.count, r.type, &message, &status), what);
        check_status(status, peer, tag, r, what);
        return;
      }
      check_ok(MPI_Imrecv(buffer, r.count, r.type, &message, &request), what);
      break;
    case Take::irecv: check_ok(MPI_Irecv(buffer, r.count, r.type, peer, tag, world, &request), what); break;
    case Take::persistent:
      check_ok(MPI_Recv_init(buffer, r.count, r.type, peer, tag, world, &request), what);
      check_ok(MPI_Start(&request), what);
      break;
  }
  if (ready) give_token(peer);
  check_ok(MPI_Wait(&request, &status), what + ", wait");
  check_status(status, peer, tag, r, what);
  if (take == Take::persistent) MPI_Request_free(&request);
}

/// One message of a region, the same on both ranks.
void exchange(const Pair& p, Region& r, Kind out, Kind in, const Mode& mode, How how, Take take) {
  const std::string what = r.name + " from " + name_of(out) + " to " + name_of(in) + " memory, " + mode.name +
                           how_names[int(how)] + ", " + take_names[int(take)];
  contract().section(what);
  if (p.sends) {
    Mirror from(r, out);
    r.fill(7);
    from.write();
    const Attached buffer(mode.buffered ? std::size_t(r.size()) : 0);
    if (mode.ready) take_token(p.peer);
    send(from.address(), r, mode, how, p.peer, what);
    return;
  }
  r.fill(7);
  const Bytes expected = r.packed();
  Mirror to(r, in);
  r.poison();
  to.write();
  receive(to.address(), r, take, mode.ready, p.peer, what);
  to.read_back();
  r.expect(expected, what);
}

const std::vector<std::pair<Kind, Kind>>& memories() {
  static const std::vector<std::pair<Kind, Kind>> all = [] {
    std::vector<std::pair<Kind, Kind>> pairs;
    for (const Kind out : kinds())
      for (const Kind in : kinds())
        if (there(out) && there(in) && (on_gpu(out) || on_gpu(in)) &&
            (out == in || out == Kind::device || in == Kind::device))
          pairs.emplace_back(out, in);
    return pairs;
  }();
  return all;
}

void every_type_and_memory(const Pair& p) {
  int turn = 0;
  for (const Sample& sample : samples()) {
    if (sample.absolute) continue;
    for (const auto& [out, in] : memories()) {
      Region r(sample, 100, 2);
      if (overlaps(r.map())) continue;
      exchange(p, r, out, in, modes[0], How(turn % 3), turn % 2 ? Take::irecv : Take::recv);
      ++turn;
    }
  }
}

void every_mode(const Pair& p) {
  for (const Sample& sample : all_samples()) {
    const std::string name = sample.name;
    if (name != "vector" && name != "struct" && name != "contiguous") continue;
    for (const int n : {1, 300, 9000, 70000})
      for (const Mode& mode : modes)
        for (const How how : {How::blocking, How::nonblocking, How::persistent})
          for (const Take take :
               {Take::recv, Take::irecv, Take::mrecv, Take::imrecv, Take::persistent, Take::wildcards}) {
            if (mode.ready && take != Take::irecv && take != Take::persistent) continue;
            Region r(sample, n, 1);
            exchange(p, r, Kind::device, n % 2 ? Kind::device : Kind::host, mode, how, take);
          }
  }
}

void predefined_types(const Pair& p) {
  for (const auto& [type, name] :
       {std::pair{MPI_BYTE, "byte"}, {MPI_DOUBLE, "double"}, {MPI_DOUBLE_INT, "double_int"}, {MPI_INT, "int"}})
    for (const int count : {0, 1, 3, 5000, 300000}) {
      MPI_Datatype copy;
      MPI_Type_dup(type, &copy);
      Region r(copy, count, name);
      exchange(p, r, Kind::device, Kind::device, modes[0], How::blocking, Take::recv);
      exchange(p, r, Kind::host, Kind::device, modes[0], How::nonblocking, Take::irecv);
    }
}

void exchanged(const Pair& p) {
  for (const Kind kind : {Kind::device, Kind::managed, Kind::pool}) {
    const std::string what = std::string("exchanged, ") + name_of(kind);
    contract().section(what);
    for (const int n : {50, 20000}) {
      Region out(make::vector(n, 1, 2, MPI_DOUBLE), 1, "vector"),
          in(make::vector(n / 50, 50, 70, MPI_DOUBLE), 1, "blocks");
      out.fill(unsigned(p.peer));
      const Bytes expected = out.packed();
      out.fill(unsigned(p.rank));
      Mirror from(out, kind), to(in, kind);
      from.write();
      in.poison();
      to.write();
      MPI_Status status;
      check_ok(
          MPI_Sendrecv(from.address(), 1, out.type, p.peer, tag, to.address(), 1, in.type, p.peer, tag, world, &status),
          what);
      to.read_back();
      in.expect(expected, what);

      check_ok(MPI_Sendrecv_replace(from.address(), 1, out.type, p.peer, tag, p.peer, tag, world, &status),
               what + ", replace");
      from.read_back();
      check_equal(out.packed() == expected, true, what + ", replace");
    }
  }
}

// Many at a time, completed in one call.
void many(const Pair& p) {
  contract().section("many");
  constexpr int messages = 27, n = 500;  // a multiple of three: both sides of a message have the same layout
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<std::unique_ptr<Mirror>> mirrors;
  std::vector<MPI_Request> requests(2 * messages);
  for (int i = 0; i < 2 * messages; ++i) {
    regions.push_back(std::make_unique<Region>(make::vector(n, 1 + i % 3, 4, MPI_DOUBLE), 1, "vector"));
    if (i < messages)
      regions.back()->fill(unsigned(100 * p.rank + i));
    else
      regions.back()->poison();
    mirrors.push_back(std::make_unique<Mirror>(*regions.back(), i % 5 == 4 ? Kind::host : Kind::device));
    mirrors.back()->write();
  }
  for (int i = 0; i < messages; ++i)
    check_ok(
        MPI_Irecv(mirrors[messages + i]->address(), 1, regions[messages + i]->type, p.peer, i, world, &requests[i]),
        "many, Irecv");
  for (int i = 0; i < messages; ++i)
    check_ok(MPI_Isend(mirrors[i]->address(), 1, regions[i]->type, p.peer, i, world, &requests[messages + i]),
             "many, Isend");
  check_ok(MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE), "many, Waitall");
  for (int i = 0; i < messages; ++i) {
    Region sent(make::vector(n, 1 + i % 3, 4, MPI_DOUBLE), 1, "vector");
    sent.fill(unsigned(100 * p.peer + i));
    mirrors[messages + i]->read_back();
    regions[messages + i]->expect(sent.packed(), "many, " + std::to_string(i));
  }
}

// A receive that is too short is an error, and the next message is right.
void truncated(const Pair& p) {
  for (const int room : {1, 200, 4000})
    for (const bool strided : {true, false}) {
      const std::string what = "truncated to " + std::to_string(room) + (strided ? ", strided" : "");
      contract().section(what);
      // A tag of its own: what a receive has truncated leaves its ticket behind, which probes of
      // that tag would see.
      constexpr int n = 5000, tag = 9;
      Region all(make::contiguous(n, MPI_DOUBLE), 1, "contiguous");
      if (p.sends) {
        Mirror from(all, Kind::device);
        all.fill(1);
        from.write();
        for (int i = 0; i < 2; ++i) check_ok(MPI_Send(from.address(), 1, all.type, p.peer, tag, world), what);
        continue;
      }
      Region few(strided ? make::vector(room, 1, 2, MPI_DOUBLE) : make::contiguous(room, MPI_DOUBLE), 1, "few");
      Mirror to(few, Kind::device);
      few.poison();
      to.write();
      int error_class = MPI_SUCCESS;
      MPI_Error_class(MPI_Recv(to.address(), 1, few.type, p.peer, tag, world, MPI_STATUS_IGNORE), &error_class);
      check_equal(error_class, MPI_ERR_TRUNCATE, what + ", class");
      Mirror whole(all, Kind::device);
      all.fill(1);
      const Bytes expected = all.packed();
      all.poison();
      whole.write();
      check_ok(MPI_Recv(whole.address(), 1, all.type, p.peer, tag, world, MPI_STATUS_IGNORE), what + ", the next");
      whole.read_back();
      all.expect(expected, what + ", the next");
    }
}

void random_types(const Pair& p, double seconds) {
  unsigned long seed = 1;
  if (const char* given = std::getenv("CONTRACT_SEED")) seed = std::strtoul(given, nullptr, 10);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;; ++seed) {
    int go_on = std::chrono::steady_clock::now() < end;
    if (p.sends)
      MPI_Send(&go_on, 1, MPI_INT, p.peer, 1, world);
    else
      MPI_Recv(&go_on, 1, MPI_INT, p.peer, 1, world, MPI_STATUS_IGNORE);
    if (!go_on) return;
    RandomType random(seed, false, true);
    const int count = random.pick(1, 3);
    MPI_Datatype type = random.make(random.pick(1, 4));
    Region r(type, count, "random type " + std::to_string(seed));
    const auto& [out, in] = memories()[std::size_t(random.pick(0, int(memories().size()) - 1))];
    if (r.quirky() || overlaps(r.map())) continue;
    exchange(p, r, out, in, modes[0], How(random.pick(0, 2)), Take(random.pick(0, 4)));
  }
}

CONTRACT_PROGRAM(messages) {
  Contract c("gpu_messages", &argc, &argv);
  const Pair p;
  if (p.active) {
    devices();
    every_type_and_memory(p);
    every_mode(p);
    predefined_types(p);
    exchanged(p);
    many(p);
    truncated(p);
    random_types(p, argc > 1 ? std::atof(argv[1]) : 2);
  }
  return c.finish();
}

}  // namespace gpu_messages_contract
