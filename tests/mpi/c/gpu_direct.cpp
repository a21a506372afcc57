// Large messages between GPUs of one host: every pair of layouts and memories, and the orders of
// calls in which one process waits for another that is not there. Crashes on an MPI that knows
// nothing of GPUs.
#include <chrono>
#include <memory>
#include <thread>

#include "mirror.hpp"
#include "peers.hpp"

namespace gpu_direct_contract {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int tag = 3;

/// What a region holds after fill(seed), packed.
Bytes filled(Region& r, unsigned seed) {
  r.fill(seed);
  return r.packed();
}

/// A region with its memory, to be sent from or received into.
struct Side {
  Side(MPI_Datatype type, const std::string& name, Kind kind)
      : region(type, 1, name), mirror(std::make_unique<Mirror>(region, kind)) {}
  Side(const Sample& sample, int n, Kind kind) : region(sample, n), mirror(std::make_unique<Mirror>(region, kind)) {}
  void* fill(unsigned seed) {
    region.fill(seed);
    mirror->write();
    return mirror->address();
  }
  void* poison() {
    region.poison();
    mirror->write();
    return mirror->address();
  }
  void expect(const Bytes& packed, const std::string& what) {
    mirror->read_back();
    region.expect(packed, what);
  }
  Region region;
  std::unique_ptr<Mirror> mirror;
};

MPI_Datatype strided(int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }
MPI_Datatype blocks(int n) { return make::vector(n / 4, 4, 7, MPI_DOUBLE); }
MPI_Datatype plain(int n) { return make::contiguous(n, MPI_DOUBLE); }

/// What a side of n doubles sends that was filled with a seed.
Bytes doubles(int n, unsigned seed, bool gaps = false) {
  static const Sample with_gaps{"doubles", strided}, without{"doubles", plain};
  Region r(gaps ? with_gaps : without, n);
  return filled(r, seed);
}

/// Messages that go the MPI's way until both know what the other can do.
void introduce(const Pair& p) {
  Side out(plain(40000), "first", Kind::device), in(plain(40000), "first", Kind::device);
  for (int i = 0; i < 3; ++i) {
    MPI_Sendrecv(out.fill(unsigned(p.rank)), 1, out.region.type, p.peer, tag, in.poison(), 1, in.region.type, p.peer,
                 tag, world, MPI_STATUS_IGNORE);
    in.expect(doubles(40000, unsigned(p.peer)), "introduction");
  }
}

/// They take most of the time. With CONTRACT_FEW_LAYOUTS it is each fourth pair, and others for
/// each length. That is for runs in which the way or a fault is new, and not the layouts.
void every_pair_of_layouts(const Pair& p) {
  const bool few = std::getenv("CONTRACT_FEW_LAYOUTS") != nullptr;
  int turn = 0, pair = 0;
  for (const int n : {40, 700, 9000, 150000})
    for (const Sample& out : same_signature())
      for (const Sample& in : same_signature()) {
        if (out.absolute || in.absolute) continue;
        if (few && pair++ % 4 != 0) continue;
        for (const auto& [from, to] : {std::pair{Kind::device, Kind::device},
                                       {Kind::pool, Kind::device},
                                       {Kind::device, Kind::host},
                                       {Kind::managed, Kind::pool},
                                       {Kind::host, Kind::device},
                                       {Kind::device, Kind::registered},
                                       {Kind::mapped, Kind::mapped}}) {
          if (n < 9000 && (from != Kind::device || to == Kind::registered)) continue;  // what is short differs in less
          if (n > 9000 && from != to && turn++ % 4 != 0)
            continue;  // what is long takes its time: of the five such pairs others with each layout
          const std::string what = std::string(out.name) + " to " + in.name + ", " + std::to_string(n) + ", " +
                                   name_of(from) + " to " + name_of(to);
          contract().section(what);
          if (p.sends) {
            Side side(out, n, from);
            check_ok(MPI_Send(side.fill(unsigned(n)), 1, side.region.type, p.peer, tag, world), what);
          } else {
            Region sent(out, n);
            Side side(in, n, to);
            MPI_Status status;
            check_ok(MPI_Recv(side.poison(), 1, side.region.type, p.peer, tag, world, &status), what);
            check_status(status, p.peer, tag, side.region, what);
            side.expect(filled(sent, unsigned(n)), what);
          }
        }
      }
}

// Less than the receive has room for, and no whole number of anything.
void short_messages(const Pair& p) {
  constexpr int room = 90001;
  for (const int bytes : {7, 8, 1000, 2048, 5119, 5121, 20011, 65537, 90000})
    for (const bool gaps_out : {false, true})
      for (const bool gaps_in : {false, true}) {
        const std::string what =
            "short, " + std::to_string(bytes) + (gaps_out ? ", strided" : "") + (gaps_in ? " to strided" : "");
        contract().section(what);
        const auto type = [](int n, bool gaps) {
          return gaps ? make::vector(n, 1, 3, MPI_BYTE) : make::contiguous(n, MPI_BYTE);
        };
        Side from(type(bytes, gaps_out), "bytes", Kind::device), to(type(room, gaps_in), "bytes", Kind::device);
        if (p.sends) {
          check_ok(MPI_Send(from.fill(5), 1, from.region.type, p.peer, tag, world), what);
          continue;
        }
        const Bytes sent = filled(from.region, 5);
        MPI_Status status;
        check_ok(MPI_Recv(to.poison(), 1, to.region.type, p.peer, tag, world, &status), what);
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        check_equal(count, bytes, what + ", count");
        to.mirror->read_back();
        Bytes got = to.region.packed();
        check(std::equal(sent.begin(), sent.end(), got.begin()), what + ", bytes");
        check(std::all_of(got.begin() + bytes, got.end(), [](auto b) { return b == Region::kPoison; }),
              what + ", what comes after");
      }
}

// More messages under way than there are lengths of tickets. Most are probed, and so must tell
// their size, and they are received in another order than they were sent.
void many_under_way(const Pair& p) {
  constexpr int messages = 700;
  const int sizes[] = {60, 700, 1500, 3000};  // by token, by short and by long ticket
  contract().section("many under way");
  std::vector<std::unique_ptr<Side>> sides;
  for (int i = 0; i < 20; ++i)
    sides.push_back(std::make_unique<Side>((p.sends ? strided : blocks)(sizes[i % 4]), "many", Kind::device));
  const auto tag_of = [](int k) { return 100 + k % 7; };
  if (p.sends) {
    std::vector<void*> filled_with;
    for (std::size_t i = 0; i < sides.size(); ++i) filled_with.push_back(sides[i]->fill(unsigned(i)));
    std::vector<MPI_Request> requests(messages);
    for (int k = 0; k < messages; ++k)
      check_ok(MPI_Isend(filled_with[std::size_t(k % 20)], 1, sides[std::size_t(k % 20)]->region.type, p.peer,
                         tag_of(k), world, &requests[std::size_t(k)]),
               "many under way, Isend");
    give_token(p.peer);
    check_ok(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE), "many under way, Waitall");
    return;
  }
  take_token(p.peer);
  for (int first = 6; first >= 0; --first)  // tag by tag
    for (int k = first; k < messages; k += 7) {
      auto& side = *sides[std::size_t(k % 20)];
      MPI_Status status;
      int count = 0;
      if (k % 3 != 0) {
        check_ok(MPI_Probe(p.peer, tag_of(k), world, &status), "many under way, Probe");
        check_ok(MPI_Get_count(&status, MPI_DOUBLE, &count), "many under way, Get_count");
        check_equal(count, sizes[k % 4], "many under way, size by probe");
      }
      check_ok(MPI_Recv(side.poison(), 1, side.region.type, p.peer, tag_of(k), world, &status), "many under way, Recv");
      check_status(status, p.peer, tag_of(k), side.region, "many under way");
      side.expect(doubles(sizes[k % 4], unsigned(k % 20), true), "many under way");
    }
}

enum class Order {
  irecv_send_wait,
  isend_recv_wait,
  waitall_sends_first,
  waitall_receives_first,
  wait_sends_first,
  persistent
};
const char* const order_names[] = {"Irecv, Send, Wait",       "Isend, Recv, Wait",       "Waitall, sends first",
                                   "Waitall, receives first", "Wait for the send first", "persistent"};

// Both at once, as halos are exchanged.
void exchanges(const Pair& p) {
  for (int order = 0; order < 6; ++order)
    for (const int n : {32, 800, 40000})
      for (const bool gaps : {false, true}) {
        const std::string what = std::string(order_names[order]) + ", " + std::to_string(n) + (gaps ? ", strided" : "");
        contract().section(what);
        Side out(gaps ? strided(n) : plain(n), what, Kind::device), in(gaps ? blocks(n) : plain(n), what, Kind::device);
        void *from = out.fill(unsigned(10 + p.rank)), *to = in.poison();
        const auto isend = [&](MPI_Request* r) {
          check_ok(MPI_Isend(from, 1, out.region.type, p.peer, tag, world, r), what);
        };
        const auto irecv = [&](MPI_Request* r) {
          check_ok(MPI_Irecv(to, 1, in.region.type, p.peer, tag, world, r), what);
        };
        MPI_Request requests[2];
        switch (Order(order)) {
          case Order::irecv_send_wait:
            irecv(requests);
            check_ok(MPI_Send(from, 1, out.region.type, p.peer, tag, world), what);
            check_ok(MPI_Wait(requests, MPI_STATUS_IGNORE), what);
            break;
          case Order::isend_recv_wait:
            isend(requests);
            check_ok(MPI_Recv(to, 1, in.region.type, p.peer, tag, world, MPI_STATUS_IGNORE), what);
            check_ok(MPI_Wait(requests, MPI_STATUS_IGNORE), what);
            break;
          case Order::waitall_sends_first:
          case Order::wait_sends_first:
            isend(requests);
            irecv(requests + 1);
            if (Order(order) == Order::wait_sends_first) check_ok(MPI_Wait(requests, MPI_STATUS_IGNORE), what);
            check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), what);
            break;
          case Order::waitall_receives_first:
            irecv(requests);
            isend(requests + 1);
            check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), what);
            break;
          case Order::persistent:
            check_ok(MPI_Recv_init(to, 1, in.region.type, p.peer, tag, world, requests), what);
            check_ok(MPI_Send_init(from, 1, out.region.type, p.peer, tag, world, requests + 1), what);
            for (unsigned turn = 0; turn < 3; ++turn) {
              out.fill(turn + unsigned(10 * p.rank));
              in.poison();
              check_ok(MPI_Startall(2, requests), what);
              check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), what);
              in.expect(doubles(n, turn + unsigned(10 * p.peer), gaps), what);
            }
            MPI_Request_free(requests);
            MPI_Request_free(requests + 1);
            continue;
        }
        in.expect(doubles(n, unsigned(10 + p.peer), gaps), what);
      }
}

// The receiver has the ticket, but not the time. The sender must get on.
void late_receivers(const Pair& p) {
  for (const auto& [n, gaps] : {std::pair{30000, false},
                                {30000, true},
                                {40, false},
                                {40, true},
                                {3000000, false}})  // the last by larger chunks
    for (const Kind kind : {Kind::device, Kind::host, Kind::pool}) {
      const std::string what =
          std::string("late, ") + name_of(kind) + (gaps ? ", strided" : "") + ", n " + std::to_string(n);
      contract().section(what);
      if (p.sends) {
        Side out(gaps ? strided(n) : plain(n), what, Kind::device);
        MPI_Request request;
        take_token(p.peer);
        check_ok(MPI_Isend(out.fill(77), 1, out.region.type, p.peer, tag, world, &request), what);
        check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
        out.fill(78);  // its own again
        int word = 1;
        // The receiver waits for this before it looks at the other.
        check_ok(MPI_Send(&word, 1, MPI_INT, p.peer, tag + 1, world), what);
      } else {
        Side in(gaps ? blocks(n) : plain(n), what, kind);
        MPI_Request request;
        check_ok(MPI_Irecv(in.poison(), 1, in.region.type, p.peer, tag, world, &request), what);
        give_token(p.peer);
        int word = 0;
        check_ok(MPI_Recv(&word, 1, MPI_INT, p.peer, tag + 1, world, MPI_STATUS_IGNORE), what);
        check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
        in.expect(doubles(n, 77, gaps), what);
      }
    }
}

// A sender whose receiver is in a call about another receive, and who cannot get rid of the data
// otherwise (DUNNAGE_TICKET_MEMORY).
void calls_about_others(const Pair& p) {
  constexpr int n = 300000;
  for (int round = 0; round < 4; ++round) {
    const std::string what = "a call about another receive, round " + std::to_string(round);
    contract().section(what);
    if (p.sends) {
      Side first(plain(n), what, Kind::device), second(plain(n), what, Kind::device);
      take_token(p.peer);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the other is in its call
      check_ok(MPI_Send(first.fill(1), 1, first.region.type, p.peer, tag, world), what);
      check_ok(MPI_Send(second.fill(2), 1, second.region.type, p.peer, tag, world), what);
    } else {
      Side first(plain(n), what, Kind::device), second(plain(n), what, Kind::device);
      MPI_Request requests[2];
      check_ok(MPI_Irecv(first.poison(), 1, first.region.type, p.peer, tag, world, &requests[0]), what);
      check_ok(MPI_Irecv(second.poison(), 1, second.region.type, p.peer, tag, world, &requests[1]), what);
      give_token(p.peer);
      if (round % 2)
        check_ok(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), what);
      else
        check_ok(MPI_Waitall(1, &requests[1], MPI_STATUSES_IGNORE), what);
      check_ok(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), what);
      first.expect(doubles(n, 1, false), what);
      second.expect(doubles(n, 2, false), what);
    }
  }
}

// Memory that is freed and allocated again has the same address, perhaps, and is another's.
void new_buffers(const Pair& p) {
  for (int i = 0; i < 12; ++i) {
    const int n = i % 3 ? 20000 : 20000 + 8192 * i;
    const std::string what = "new buffers, " + std::to_string(i);
    contract().section(what);
    Side side(i % 2 ? strided(n) : plain(n), what, Kind::device);
    if (p.sends) {
      check_ok(MPI_Send(side.fill(unsigned(i)), 1, side.region.type, p.peer, tag, world), what);
    } else {
      check_ok(MPI_Recv(side.poison(), 1, side.region.type, p.peer, tag, world, MPI_STATUS_IGNORE), what);
      side.expect(doubles(n, unsigned(i), i % 2), what);
    }
  }
}

// Many at a time, some small, some contiguous, some to host memory, completed in every way.
void windows(const Pair& p) {
  constexpr int messages = 40;
  for (int way = 0; way < 4; ++way) {
    const std::string what = "window, " + std::to_string(way);
    contract().section(what);
    std::vector<std::unique_ptr<Side>> sides;
    std::vector<MPI_Request> requests(messages);
    const auto size = [](int i) { return i % 7 == 0 ? 100 : 2000 + 1000 * (i % 5); };
    for (int i = 0; i < messages; ++i) {
      const int n = size(i);
      const Kind kind = p.receives && i % 6 == 5 ? Kind::host
                        : i % 11 == 3            ? Kind::pool
                        : i % 5 == 2             ? Kind::mapped
                                                 : Kind::device;
      sides.push_back(std::make_unique<Side>((i + p.rank) % 3 ? plain(n) : strided(n), what, kind));
      auto& side = *sides.back();
      if (p.sends)
        check_ok(MPI_Isend(side.fill(unsigned(i)), 1, side.region.type, p.peer, i, world, &requests[std::size_t(i)]),
                 what);
      else
        check_ok(MPI_Irecv(side.poison(), 1, side.region.type, p.peer, i, world, &requests[std::size_t(i)]), what);
    }
    int left = messages;
    switch (way) {
      case 0: check_ok(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE), what); break;
      case 1:
        for (; left > 0; --left) {
          int index = -1;
          check_ok(MPI_Waitany(messages, requests.data(), &index, MPI_STATUS_IGNORE), what);
        }
        break;
      case 2:
        for (int done = 0; !done;) check_ok(MPI_Testall(messages, requests.data(), &done, MPI_STATUSES_IGNORE), what);
        break;
      default:
        while (left > 0) {
          int count = 0, indices[messages];
          check_ok(MPI_Waitsome(messages, requests.data(), &count, indices, MPI_STATUSES_IGNORE), what);
          left -= count;
        }
    }
    if (p.receives)
      for (int i = 0; i < messages; ++i)
        sides[std::size_t(i)]->expect(doubles(size(i), unsigned(i), (i + p.peer) % 3 == 0),
                                      what + ", message " + std::to_string(i));
  }
}

// Freed before it is complete, and looked at before it is.
void other_ends(const Pair& p) {
  constexpr int n = 25000;
  contract().section("freed");
  Side side(strided(n), "freed", Kind::device);
  MPI_Request request;
  if (p.sends) {
    check_ok(MPI_Isend(side.fill(9), 1, side.region.type, p.peer, tag, world, &request), "freed");
    check_ok(MPI_Request_free(&request), "freed");
    take_token(p.peer);
  } else {
    check_ok(MPI_Recv(side.poison(), 1, side.region.type, p.peer, tag, world, MPI_STATUS_IGNORE), "freed");
    side.expect(doubles(n, 9, true), "freed");
    give_token(p.peer);
  }
  contract().section("looked at");
  int done = 0;
  if (p.sends) {
    check_ok(MPI_Isend(side.fill(8), 1, side.region.type, p.peer, tag, world, &request), "looked at");
    while (!done) check_ok(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), "looked at");
    side.fill(7);  // complete is complete
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "looked at");
  } else {
    check_ok(MPI_Irecv(side.poison(), 1, side.region.type, p.peer, tag, world, &request), "looked at");
    while (!done) check_ok(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE), "looked at");
    side.expect(doubles(n, 8, true), "looked at");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "looked at");
  }
}

// Messages that are as short as those of any program, of GPUs and of hosts in turn; so many of
// hosts in the end that those of GPUs go another way.
void tokens_among_others(const Pair& p) {
  const int sizes[] = {1, 8, 9, 16, 100, 1024, 1056, 4000};
  for (int i = 0; i < 240; ++i) {
    const int bytes = sizes[i % 8];
    const bool strided_out = i / 8 % 2, host_between = i >= 160;
    const std::string what = "tokens, " + std::to_string(bytes) + ", way " + std::to_string(i / 8 % 6);
    contract().section(what);
    const auto type = [](int n, bool gaps) {
      return gaps ? make::vector(n, 1, 2, MPI_BYTE) : make::contiguous(n, MPI_BYTE);
    };
    std::vector<char> word(16, char(i)), words(16);
    Side from(type(bytes, strided_out), "bytes", i % 5 == 4 ? Kind::pool : Kind::device);
    Side to(type(bytes, i / 16 % 2), "bytes", i % 3 == 2 ? Kind::host : i % 7 == 6 ? Kind::managed : Kind::device);
    for (int k = 0; host_between && k < 30; ++k) {
      if (p.sends)
        check_ok(MPI_Send(word.data(), 16, MPI_BYTE, p.peer, tag, world), what);
      else
        check_ok(MPI_Recv(words.data(), 16, MPI_BYTE, p.peer, tag, world, MPI_STATUS_IGNORE), what);
    }
    check(p.sends || !host_between || words == word, what + ", of the host");
    MPI_Request request;
    MPI_Status status;
    if (p.sends) {
      from.fill(unsigned(i));
      switch (i / 8 % 6) {
        case 0: check_ok(MPI_Ssend(from.mirror->address(), 1, from.region.type, p.peer, tag, world), what); break;
        case 1:
          check_ok(MPI_Isend(from.mirror->address(), 1, from.region.type, p.peer, tag, world, &request), what);
          check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
          break;
        case 2:
          check_ok(MPI_Send_init(from.mirror->address(), 1, from.region.type, p.peer, tag, world, &request), what);
          check_ok(MPI_Start(&request), what);
          check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
          MPI_Request_free(&request);
          break;
        default: check_ok(MPI_Send(from.mirror->address(), 1, from.region.type, p.peer, tag, world), what);
      }
      continue;
    }
    to.poison();
    MPI_Message message;
    switch (i / 8 % 6) {
      case 0:
        check_ok(MPI_Recv(to.mirror->address(), 1, to.region.type, MPI_ANY_SOURCE, tag, world, &status), what);
        break;
      case 1:
        check_ok(MPI_Irecv(to.mirror->address(), 1, to.region.type, p.peer, tag, world, &request), what);
        check_ok(MPI_Wait(&request, &status), what);
        break;
      case 2: {
        check_ok(MPI_Probe(p.peer, tag, world, &status), what);
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        check_equal(count, bytes, what + ", probed");
        check_ok(MPI_Recv(to.mirror->address(), 1, to.region.type, p.peer, tag, world, &status), what);
        break;
      }
      case 3:
        check_ok(MPI_Mprobe(p.peer, tag, world, &message, &status), what);
        check_ok(MPI_Mrecv(to.mirror->address(), 1, to.region.type, &message, &status), what);
        break;
      case 4:
        check_ok(MPI_Recv_init(to.mirror->address(), 1, to.region.type, p.peer, tag, world, &request), what);
        check_ok(MPI_Start(&request), what);
        check_ok(MPI_Wait(&request, &status), what);
        MPI_Request_free(&request);
        break;
      default: {
        int flag = 0;
        check_ok(MPI_Irecv(to.mirror->address(), 1, to.region.type, p.peer, MPI_ANY_TAG, world, &request), what);
        while (!flag) MPI_Test(&request, &flag, &status);
      }
    }
    check_status(status, p.peer, tag, to.region, what);
    to.expect(filled(from.region, unsigned(i)), what);
  }
}

// All ranks at once, each from anyone.
void around() {
  const int ranks = contract().ranks, rank = contract().rank;
  for (const int n : {20, 3000, 50000}) {
    const std::string what = "around, " + std::to_string(n);
    contract().section(what);
    std::vector<std::unique_ptr<Side>> in;
    std::vector<MPI_Request> requests;
    Side out(strided(n), what, Kind::device);
    void* from = out.fill(unsigned(rank + 50));
    for (int i = 0; i + 1 < ranks; ++i) {
      in.push_back(std::make_unique<Side>(i % 2 ? plain(n) : blocks(n), what, Kind::device));
      requests.emplace_back();
      check_ok(MPI_Irecv(in.back()->poison(), 1, in.back()->region.type, MPI_ANY_SOURCE, n, world, &requests.back()),
               what);
    }
    for (int i = 1; i < ranks; ++i) {
      requests.emplace_back();
      check_ok(MPI_Isend(from, 1, out.region.type, (rank + i) % ranks, n, world, &requests.back()), what);
    }
    std::vector<MPI_Status> statuses(requests.size());
    check_ok(MPI_Waitall(int(requests.size()), requests.data(), statuses.data()), what);
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i]->expect(doubles(n, unsigned(statuses[i].MPI_SOURCE + 50), true), what);
  }
}

CONTRACT_PROGRAM(direct) {
  Contract c("gpu_direct", &argc, &argv);
  const Pair p;
  devices();
  if (p.active) {
    introduce(p);
    every_pair_of_layouts(p);
    short_messages(p);
    exchanges(p);
    late_receivers(p);
    calls_about_others(p);
    new_buffers(p);
    windows(p);
    many_under_way(p);
    other_ends(p);
    tokens_among_others(p);
  }
  around();
  return c.finish();
}

}  // namespace gpu_direct_contract
