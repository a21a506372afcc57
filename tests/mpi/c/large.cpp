// Large non-contiguous messages: what a program may rely on while they are under way. Order,
// wildcards, probes, truncation, sends that nobody receives yet, and calls that block in any order.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "peers.hpp"

namespace large_contract {

const MPI_Comm world = MPI_COMM_WORLD;

struct Partners : Pair {
  MPI_Comm comm = MPI_COMM_NULL;  // of the two
  Partners() {
    MPI_Comm_split(world, active ? rank / 2 : MPI_UNDEFINED, 0, &comm);
    if (active) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
};

// Doubles, every other one.
std::unique_ptr<Region> strided(int n) {
  return std::make_unique<Region>(make::vector(n, 1, 2, MPI_DOUBLE), 1, "vector");
}
std::unique_ptr<Region> blocks(int n) {
  return std::make_unique<Region>(make::vector(n / 50, 50, 70, MPI_DOUBLE), 1, "blocks");
}
std::unique_ptr<Region> whole(int n) {
  return std::make_unique<Region>(make::contiguous(n, MPI_DOUBLE), 1, "contiguous");
}

Bytes filled(Region& r, unsigned seed) {
  r.fill(seed);
  return r.packed();
}
// What a region of the other process' would pack, made here.
Bytes expected_of(int n, unsigned seed) { return filled(*strided(n), seed); }

int bytes_of(const MPI_Status& status) {
  int n = 0;
  MPI_Get_count(&status, MPI_BYTE, &n);
  return n;
}

// The first message of a pair of ranks may take another way than the later ones.
void acquaint(int peer) {
  for (int i = 0; i < 6; ++i) {
    auto out = strided(40000), in = strided(40000);
    const Bytes expected = expected_of(40000, 5);
    out->fill(5);
    in->poison();
    MPI_Request request;
    check_ok(MPI_Irecv(in->address, 1, in->type, peer, 1, world, &request), "acquaintance");
    check_ok(MPI_Send(out->address, 1, out->type, peer, 1, world), "acquaintance");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "acquaintance");
    in->expect(expected, "acquaintance");
  }
}

// Sizes around those that anybody might treat differently.
void sizes_one_by_one(const Pair& p) {
  contract().section("sizes");
  for (int n = 1500; n <= 2100; n += n < 2060 && n > 1536 ? 4 : 1) {
    auto r = strided(n);
    const std::string what = "strided, " + std::to_string(n) + " doubles";
    if (p.sends) {
      r->fill(n);
      check_ok(MPI_Send(r->address, 1, r->type, p.peer, 1, world), what);
      auto w = whole(n);
      w->fill(n);
      check_ok(MPI_Send(w->address, 1, w->type, p.peer, 2, world), "contiguous, " + std::to_string(n));
    } else {
      const Bytes expected = filled(*r, n);
      r->poison();
      MPI_Status status;
      check_ok(MPI_Probe(p.peer, 1, world, &status), what);
      check_equal(bytes_of(status), 8 * n, what + ", probed");
      check_ok(MPI_Recv(r->address, 1, r->type, p.peer, 1, world, &status), what);
      check_equal(bytes_of(status), 8 * n, what + ", count");
      r->expect(expected, what);
      auto w = whole(n);
      const Bytes plain = filled(*w, n);
      w->poison();
      check_ok(MPI_Probe(p.peer, 2, world, &status), what);
      check_equal(bytes_of(status), 8 * n, "contiguous, " + std::to_string(n) + ", probed");
      check_ok(MPI_Recv(w->address, 1, w->type, p.peer, 2, world, MPI_STATUS_IGNORE), what);
      w->expect(plain, "contiguous, " + std::to_string(n));
    }
  }
}

// Hundreds of sends before the first receive; received in order by tag, by wildcards and by probes.
void unexpected(const Partners& p) {
  const int peer = p.sends ? 1 : 0;  // of the two, so that wildcards meet nobody else
  contract().section("unexpected");
  constexpr int messages = 300, n = 6000;
  if (p.sends) {
    std::vector<std::unique_ptr<Region>> regions;
    std::vector<MPI_Request> requests(messages);
    for (int i = 0; i < messages; ++i) {
      regions.push_back(i % 7 == 3 ? whole(n) : strided(n));
      regions.back()->fill(i);
      check_ok(MPI_Isend(regions.back()->address, 1, regions.back()->type, peer, i % 3, p.comm, &requests[i]),
               "unexpected, send");
    }
    give_token(p.peer);
    check_ok(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE), "unexpected, wait");
    return;
  }
  take_token(p.peer);
  int next[3] = {0, 1, 2};
  for (int i = 0; i < messages; ++i) {
    auto r = i % 2 ? strided(n) : whole(n);
    r->poison();
    const int tag = i % 5 == 4 ? MPI_ANY_TAG : i % 3;
    const int source = i % 4 == 1 ? MPI_ANY_SOURCE : peer;
    MPI_Status status;
    if (tag != MPI_ANY_TAG && next[tag] >= messages) continue;
    if (i % 11 == 0) {
      check_ok(MPI_Probe(source, tag, p.comm, &status), "unexpected, probe");
      check_equal(bytes_of(status), 8 * n, "unexpected, probed size");
    }
    check_ok(MPI_Recv(r->address, 1, r->type, source, tag, p.comm, &status), "unexpected, receive");
    check_equal(bytes_of(status), 8 * n, "unexpected, size");
    const int which = next[status.MPI_TAG];
    next[status.MPI_TAG] += 3;
    auto sent = which % 7 == 3 ? whole(n) : strided(n);
    r->expect(filled(*sent, which), "unexpected, in order");
  }
  for (int tag = 0; tag < 3; ++tag)
    for (; next[tag] < messages; next[tag] += 3) {
      auto r = whole(n);
      check_ok(MPI_Recv(r->address, 1, r->type, peer, tag, p.comm, MPI_STATUS_IGNORE), "unexpected, rest");
      auto sent = next[tag] % 7 == 3 ? whole(n) : strided(n);
      r->expect(filled(*sent, next[tag]), "unexpected, rest in order");
    }
}

// Each side blocks in a call in which it has to let the other go on.
void blocking_in_any_order(const Partners& p) {
  constexpr int n = 300000;
  auto out = strided(n), in = blocks(n);
  const Bytes expected = expected_of(n, 9);
  MPI_Request request;
  const auto fresh = [&] {
    out->fill(9);
    in->poison();
  };
  const auto what = [&](const char* name) {
    contract().section(name);
    return std::string(name);
  };
  {
    const auto name = what("both send, both have posted");
    fresh();
    check_ok(MPI_Irecv(in->address, 1, in->type, p.peer, 1, world, &request), name);
    check_ok(MPI_Send(out->address, 1, out->type, p.peer, 1, world), name);
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
    in->expect(expected, name);
  }
  {
    const auto name = what("posted, then a barrier, while the other sends before it");
    fresh();
    if (p.sends) {
      check_ok(MPI_Send(out->address, 1, out->type, p.peer, 2, world), name);
      check_ok(MPI_Barrier(p.comm), name);
    } else {
      check_ok(MPI_Irecv(in->address, 1, in->type, p.peer, 2, world, &request), name);
      check_ok(MPI_Barrier(p.comm), name);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
      in->expect(expected, name);
    }
  }
  {
    const auto name = what("sent, then a split, while the other receives before it");
    fresh();
    MPI_Comm split;
    if (p.sends) {
      check_ok(MPI_Isend(out->address, 1, out->type, p.peer, 3, world, &request), name);
      check_ok(MPI_Comm_split(p.comm, 0, 0, &split), name);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
    } else {
      check_ok(MPI_Recv(in->address, 1, in->type, p.peer, 3, world, MPI_STATUS_IGNORE), name);
      in->expect(expected, name);
      check_ok(MPI_Comm_split(p.comm, 0, 0, &split), name);
    }
    MPI_Comm_free(&split);
  }
  {
    const auto name = what("a synchronous send waits for its receive");
    fresh();
    if (p.sends) {
      check_ok(MPI_Issend(out->address, 1, out->type, p.peer, 4, world, &request), name);
      int done = 0;
      for (int i = 0; i < 200; ++i) check_ok(MPI_Test(&request, &done, MPI_STATUS_IGNORE), name);
      check(!done, name + ", not before");
      give_token(p.peer);
      if (!done) check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
    } else {
      take_token(p.peer);
      check_ok(MPI_Recv(in->address, 1, in->type, p.peer, 4, world, MPI_STATUS_IGNORE), name);
      in->expect(expected, name);
    }
  }
  {
    const auto name = what("exchanged by Sendrecv");
    fresh();
    MPI_Status status;
    check_ok(MPI_Sendrecv(out->address, 1, out->type, p.peer, 5, in->address, 1, in->type, p.peer, 5, world, &status),
             name);
    check_equal(bytes_of(status), 8 * n, name + ", size");
    in->expect(expected, name);
  }
  {
    // What has been sent needs its sender no more.
    const auto name = what("sent, and the sender calls nothing until it has been received");
    fresh();
    char path[64] = "";
    if (p.sends) {
      std::snprintf(path, sizeof path, "/tmp/contract-large-%d", static_cast<int>(getpid()));
      check_ok(MPI_Send(path, sizeof path, MPI_CHAR, p.peer, 9, world), name);
      check_ok(MPI_Send(out->address, 1, out->type, p.peer, 10, world), name);
      while (access(path, F_OK) != 0) usleep(1000);
      unlink(path);
    } else {
      check_ok(MPI_Recv(path, sizeof path, MPI_CHAR, p.peer, 9, world, MPI_STATUS_IGNORE), name);
      check_ok(MPI_Irecv(in->address, 1, in->type, p.peer, 10, world, &request), name);
      for (int i = 0, there = 0; i < 50; ++i) {
        check_ok(MPI_Iprobe(p.peer, 11, world, &there, MPI_STATUS_IGNORE), name);
        usleep(1000);
      }
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
      in->expect(expected, name);
      std::fclose(std::fopen(path, "w"));
    }
  }
  // The sender of the large one may wait for it to be fetched, and only then send what the receiver
  // waits for.
  for (const bool waitall : {false, true}) {
    const auto name = what(waitall ? "waited for with a small one that is sent after it"
                                   : "posted, and a small one received that is sent after it");
    fresh();
    int small = 0;
    if (p.sends) {
      small = 77;
      check_ok(MPI_Send(out->address, 1, out->type, p.peer, 7, world), name);
      check_ok(MPI_Send(&small, 1, MPI_INT, p.peer, 8, world), name);
    } else {
      MPI_Request both[2];
      check_ok(MPI_Irecv(in->address, 1, in->type, p.peer, 7, world, &both[0]), name);
      if (waitall) {
        check_ok(MPI_Irecv(&small, 1, MPI_INT, p.peer, 8, world, &both[1]), name);
        check_ok(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), name);
      } else {
        check_ok(MPI_Recv(&small, 1, MPI_INT, p.peer, 8, world, MPI_STATUS_IGNORE), name);
        check_ok(MPI_Wait(&both[0], MPI_STATUS_IGNORE), name);
      }
      check_equal(small, 77, name + ", the small one");
      in->expect(expected, name);
    }
  }
  {
    const auto name = what("posted, and a contiguous one sent that is received after it");
    fresh();
    std::vector<double> plain(n, p.sends ? 0 : 5);
    if (p.sends) {
      check_ok(MPI_Send(out->address, 1, out->type, p.peer, 7, world), name);
      check_ok(MPI_Recv(plain.data(), n, MPI_DOUBLE, p.peer, 8, world, MPI_STATUS_IGNORE), name);
      check(plain == std::vector<double>(n, 5), name + ", the contiguous one");
    } else {
      check_ok(MPI_Irecv(in->address, 1, in->type, p.peer, 7, world, &request), name);
      check_ok(MPI_Send(plain.data(), n, MPI_DOUBLE, p.peer, 8, world), name);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), name);
      in->expect(expected, name);
    }
  }
  {
    const auto name = what("Test until it is there");
    fresh();
    if (p.sends) {
      check_ok(MPI_Send(out->address, 1, out->type, p.peer, 6, world), name);
    } else {
      MPI_Status status;
      check_ok(MPI_Irecv(in->address, 1, in->type, p.peer, 6, world, &request), name);
      int done = 0;
      while (!done) check_ok(MPI_Request_get_status(request, &done, &status), name);
      check_equal(bytes_of(status), 8 * n, name + ", size before the end");
      in->expect(expected, name + ", before the end");
      done = 0;
      while (!done) check_ok(MPI_Test(&request, &done, &status), name);
      check_equal(bytes_of(status), 8 * n, name + ", size");
      in->expect(expected, name);
    }
  }
}

// A receive that is too short is an error, whatever way the message came, and the next message is
// right.
void truncated(const Pair& p) {
  for (const int room : {1000, 1700, 2200, 10000, 39999})
    for (const bool contiguous : {true, false})
      for (const int how : {0, 1, 2}) {
        const auto name = "truncated to " + std::to_string(room) + (contiguous ? ", contiguous" : ", strided") +
                          (how == 0   ? ", Recv"
                           : how == 1 ? ", Wait"
                                      : ", Waitall");
        contract().section(name);
        constexpr int n = 40000;
        if (p.sends) {
          auto out = strided(n);
          out->fill(3);
          check_ok(MPI_Send(out->address, 1, out->type, p.peer, 1, world), name);
          check_ok(MPI_Send(out->address, 1, out->type, p.peer, 1, world), name);
          continue;
        }
        auto small = contiguous ? whole(room) : strided(room), after = whole(n);
        small->poison();
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2];
        if (how == 0) {
          check_class(MPI_Recv(small->address, 1, small->type, p.peer, 1, world, statuses), MPI_ERR_TRUNCATE, name);
          check_ok(MPI_Recv(after->address, 1, after->type, p.peer, 1, world, statuses), name + ", the next");
        } else {
          check_ok(MPI_Irecv(small->address, 1, small->type, p.peer, 1, world, &requests[0]), name);
          check_ok(MPI_Irecv(after->address, 1, after->type, p.peer, 1, world, &requests[1]), name);
          if (how == 1) {
            check_class(MPI_Wait(&requests[0], statuses), MPI_ERR_TRUNCATE, name);
            check_ok(MPI_Wait(&requests[1], statuses), name + ", the next");
          } else {
            check_class(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS, name);
            check_class(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE, name + ", status");
            // It may say that the other was not looked at.
            while (requests[1] != MPI_REQUEST_NULL) check_ok(MPI_Wait(&requests[1], statuses), name + ", the next");
          }
        }
        after->expect(expected_of(n, 3), name + ", the next");
      }
}

// More room than the message needs; types that have not been committed by the program itself.
void room_to_spare(const Partners& p) {
  const int peer = p.sends ? 1 : 0;  // of the two, so that wildcards meet nobody else
  contract().section("room to spare");
  constexpr int n = 30000;
  if (p.sends) {
    auto out = strided(n);
    for (int i = 0; i < 4; ++i) {
      out->fill(i);
      check_ok(MPI_Send(out->address, 1, out->type, peer, 1, p.comm), "room to spare");
    }
    return;
  }
  for (int i = 0; i < 4; ++i) {
    auto in = i % 2 ? strided(2 * n) : whole(2 * n);
    in->poison();
    Bytes before = in->bytes();
    MPI_Status status;
    if (i < 2) {
      check_ok(MPI_Recv(in->address, 1, in->type, peer, 1, p.comm, &status), "room to spare");
    } else {
      MPI_Request request;
      check_ok(MPI_Irecv(in->address, 1, in->type, i % 2 ? MPI_ANY_SOURCE : peer, MPI_ANY_TAG, p.comm, &request),
               "room to spare");
      int index;
      check_ok(MPI_Waitany(1, &request, &index, &status), "room to spare");
    }
    check_equal(bytes_of(status), 8 * n, "room to spare, size");
    int elements = 0;
    MPI_Get_elements(&status, MPI_DOUBLE, &elements);
    check_equal(elements, n, "room to spare, elements");
    Bytes expected = expected_of(n, i), got = in->packed();
    got.resize(expected.size());
    check(got == expected, "room to spare, bytes");
  }
}

// Receives into what is described in some other way: duplicates of predefined types, absolute
// addresses.
void described_otherwise(const Pair& p) {
  contract().section("described otherwise");
  constexpr int n = 30000;
  const char* ways[] = {"duplicate of double", "absolute, contiguous", "absolute, blocks"};
  for (int way = 0; way < 3; ++way)
    for (const bool blocking : {true, false}) {
      const std::string what = std::string(ways[way]) + (blocking ? ", Recv" : ", Irecv");
      if (p.sends) {
        auto out = strided(n);
        out->fill(way);
        check_ok(MPI_Send(out->address, 1, out->type, p.peer, 1, world), what);
        continue;
      }
      std::vector<double> memory(3 * n);
      MPI_Datatype type;
      if (way == 0) {
        MPI_Type_dup(MPI_DOUBLE, &type);
      } else {
        MPI_Aint at;
        MPI_Get_address(memory.data(), &at);
        MPI_Type_create_hvector(way == 1 ? 1 : n / 100, way == 1 ? n : 100, 2400, MPI_DOUBLE, &type);
        MPI_Datatype placed;
        const int one = 1;
        MPI_Type_create_struct(1, &one, &at, &type, &placed);
        MPI_Type_free(&type);
        type = placed;
        MPI_Type_commit(&type);
      }
      void* buffer = way == 0 ? memory.data() : MPI_BOTTOM;
      const int count = way == 0 ? n : 1;
      MPI_Status status;
      if (blocking) {
        check_ok(MPI_Recv(buffer, count, type, p.peer, 1, world, &status), what);
      } else {
        MPI_Request request;
        check_ok(MPI_Irecv(buffer, count, type, p.peer, 1, world, &request), what);
        check_ok(MPI_Wait(&request, &status), what);
      }
      check_equal(bytes_of(status), 8 * n, what + ", size");
      const Bytes expected = expected_of(n, way);
      bool right = true;
      for (int i = 0; i < n; ++i) {
        const int to = way == 2 ? i / 100 * 300 + i % 100 : i;
        right = right && std::memcmp(&memory[to], expected.data() + 8 * i, 8) == 0;
      }
      check(right, what + ", bytes");
      MPI_Type_free(&type);
    }
}

// A buffered message is found for what it is, whatever else is on its way.
void probed_among_others(const Pair& p) {
  contract().section("probed among others");
  for (int bytes = 12288; bytes < 16384; bytes += 96) {
    if (p.sends) {
      const Bytes small(bytes, 1);
      const Attached buffer(bytes);
      check_ok(MPI_Bsend(small.data(), bytes, MPI_BYTE, p.peer, 5, world), "probed among others");
      auto out = strided(20000);
      out->fill(2);
      check_ok(MPI_Send(out->address, 1, out->type, p.peer, 5, world), "probed among others");
    } else {
      MPI_Status status;
      check_ok(MPI_Probe(p.peer, 5, world, &status), "probed among others");
      check_equal(bytes_of(status), bytes, "probed among others, size");
      Bytes small(bytes);
      check_ok(MPI_Recv(small.data(), bytes, MPI_BYTE, p.peer, 5, world, MPI_STATUS_IGNORE), "probed among others");
      check(small == Bytes(bytes, 1), "probed among others, bytes");
      auto in = whole(20000);
      check_ok(MPI_Recv(in->address, 1, in->type, p.peer, 5, world, MPI_STATUS_IGNORE), "probed among others");
      in->expect(expected_of(20000, 2), "probed among others, large");
    }
  }
}

// Through other communicators: duplicates, split ones with other ranks, and between groups.
void communicators(const Partners& p) {
  contract().section("communicators");
  constexpr int n = 50000;
  MPI_Comm comms[3] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Comm_dup(p.comm, &comms[0]);
  MPI_Comm_split(p.comm, 0, p.sends ? 1 : 0, &comms[1]);  // the other way round
  MPI_Comm alone;
  MPI_Comm_split(p.comm, p.sends, 0, &alone);
  MPI_Intercomm_create(alone, 0, world, p.peer, 77, &comms[2]);
  for (int round = 0; round < 3; ++round)
    for (int c = 0; c < 3; ++c) {
      MPI_Comm_set_errhandler(comms[c], MPI_ERRORS_RETURN);
      int rank = 0;
      MPI_Comm_rank(comms[c], &rank);
      const int peer = c == 2 ? 0 : 1 - rank;
      const std::string what = c == 0 ? "duplicate" : c == 1 ? "split" : "between groups";
      if (p.sends) {
        auto out = strided(n);
        out->fill(c);
        check_ok(MPI_Send(out->address, 1, out->type, peer, 1, comms[c]), what);
      } else {
        auto in = blocks(n);
        in->poison();
        MPI_Status status;
        MPI_Message message;
        check_ok(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &message, &status), what);
        check_equal(bytes_of(status), 8 * n, what + ", probed");
        check_equal(status.MPI_SOURCE, peer, what + ", source");
        check_ok(MPI_Mrecv(in->address, 1, in->type, &message, &status), what);
        check_equal(bytes_of(status), 8 * n, what + ", size");
        in->expect(expected_of(n, c), what);
      }
    }
  MPI_Comm_free(&alone);
  for (auto& comm : comms) MPI_Comm_free(&comm);
}

// Everybody to everybody, at once.
void all_to_all() {
  contract().section("all to all");
  constexpr int n = 20000;
  const int ranks = contract().ranks, rank = contract().rank;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Region>> in, out;
    std::vector<MPI_Request> requests(2 * ranks);
    for (int r = 0; r < ranks; ++r) {
      in.push_back(round == 1 ? blocks(n) : strided(n));
      in.back()->poison();
      check_ok(MPI_Irecv(in[r]->address, 1, in[r]->type, r, 5, world, &requests[r]), "all to all");
    }
    for (int r = 0; r < ranks; ++r) {
      out.push_back(strided(n));
      out[r]->fill(100 * rank + r);
      check_ok(MPI_Isend(out[r]->address, 1, out[r]->type, r, 5, world, &requests[ranks + r]), "all to all");
    }
    check_ok(MPI_Waitall(2 * ranks, requests.data(), MPI_STATUSES_IGNORE), "all to all");
    for (int r = 0; r < ranks; ++r) in[r]->expect(expected_of(n, 100 * r + rank), "all to all");
  }
}

CONTRACT_PROGRAM(large) {
  Contract c("large", &argc, &argv);
  Partners partners;
  const Partners& p = partners;
  if (p.active) {
    acquaint(p.peer);
    sizes_one_by_one(p);
    unexpected(p);
    blocking_in_any_order(p);
    truncated(p);
    room_to_spare(p);
    described_otherwise(p);
    communicators(p);
    probed_among_others(p);
  }
  all_to_all();
  if (p.comm != MPI_COMM_NULL) MPI_Comm_free(&partners.comm);
  return c.finish();
}

}  // namespace large_contract
