// Partitioned messages of random shapes between all pairs of ranks, a rank and itself too.
//
//   contract_partitions [SECONDS [SEED [ONLY]]] [threads]
//
// ONLY replays one round. With CONTRACT_OUR_PARTITIONS the messages are not the MPI's own: then
// also what an MPI may do differently is checked, above all that a partition arrives before the
// others are ready.
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "partitioned_calls.hpp"
#include "peers.hpp"
#include "surface.hpp"

namespace partitions_contract {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

bool ours() { return std::getenv("CONTRACT_OUR_PARTITIONS") != nullptr; }
int pick(Random& random, int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); }
int comm_size(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

// --- one side of a message -----------------------------------------------------------------------

struct Side {
  int partitions, count;  // elements of a partition
  Type type;
  Buffer buffer;
  MPI_Request request = MPI_REQUEST_NULL;

  Side(const Signature& signature, int which, int partitions_, int count_, int n)
      : partitions(partitions_), count(count_), type(signature.type(which, n)), buffer(type, partitions * count) {}
  int init(bool sends, int peer, int tag, MPI_Comm comm) {
    return sends ? MPI_Psend_init(buffer.address(), partitions, count, type, peer, tag, comm, MPI_INFO_NULL, &request)
                 : MPI_Precv_init(buffer.address(), partitions, count, type, peer, tag, comm, MPI_INFO_NULL, &request);
  }
  std::size_t bytes() const { return buffer.size() / std::size_t(partitions); }
  Bytes part(const Bytes& stream, int p) const {
    return {stream.begin() + p * MPI_Aint(bytes()), stream.begin() + (p + 1) * MPI_Aint(bytes())};
  }
};

// Makes all partitions ready in a random order, by all three calls.
void make_ready(Side& side, Random& random, const std::string& what) {
  std::vector<int> order(static_cast<std::size_t>(side.partitions));
  std::iota(order.begin(), order.end(), 0);
  if (pick(random, 0, 2) == 0) {
    for (int at = side.partitions; at > 0;) {  // ranges from behind
      const int length = pick(random, 1, at);
      check_ok(MPI_Pready_range(at - length, at - 1, side.request), what + ", Pready_range");
      at -= length;
    }
    return;
  }
  std::shuffle(order.begin(), order.end(), random);
  const int listed = pick(random, 0, 1) * pick(random, 0, side.partitions);
  if (listed > 0) check_ok(MPI_Pready_list(listed, order.data(), side.request), what + ", Pready_list");
  for (int i = listed; i < side.partitions; ++i) check_ok(MPI_Pready(order[i], side.request), what + ", Pready");
}

// --- the calls that complete requests ------------------------------------------------------------

void complete(std::vector<MPI_Request> requests, std::vector<MPI_Status>& statuses, int how, const std::string& what) {
  const int n = int(requests.size());
  int left = n, flag = 0, index = 0, done = 0;
  std::vector<int> indices(static_cast<std::size_t>(n));
  std::vector<MPI_Status> some(static_cast<std::size_t>(n));
  MPI_Status status;
  // Inactive requests stay what they are, so each call is given what has not ended.
  std::vector<int> open(static_cast<std::size_t>(n));
  std::iota(open.begin(), open.end(), 0);
  const auto active = [&] {
    std::vector<MPI_Request> all;
    for (int i : open) all.push_back(requests[i]);
    return all;
  };
  const auto end = [&](int i, const MPI_Status& s) {
    statuses[open[i]] = s;
    open[i] = -1;
    --left;
  };
  const auto tidy = [&] { open.erase(std::remove(open.begin(), open.end(), -1), open.end()); };
  switch (how) {
    case 0: return check_ok(MPI_Waitall(n, requests.data(), statuses.data()), what + ", Waitall");
    case 1:
      for (int i = 0; i < n; ++i) check_ok(MPI_Wait(&requests[i], &statuses[i]), what + ", Wait");
      return;
    case 2:
      while (!flag) check_ok(MPI_Testall(n, requests.data(), &flag, statuses.data()), what + ", Testall");
      return;
    case 3:
      for (int i = 0; i < n; ++i)
        for (flag = 0; !flag;)
          check_ok(MPI_Request_get_status(requests[i], &flag, &statuses[i]), what + ", get_status");
      for (int i = 0; i < n; ++i)
        for (flag = 0; !flag;) check_ok(MPI_Test(&requests[i], &flag, &statuses[i]), what + ", Test");
      return;
    default: break;
  }
  while (left > 0) {
    auto now = active();
    const int count = int(now.size());
    flag = 1;
    if (how == 4) check_ok(MPI_Waitany(count, now.data(), &index, &status), what + ", Waitany");
    if (how == 5) check_ok(MPI_Testany(count, now.data(), &index, &flag, &status), what + ", Testany");
    if (how == 6) check_ok(MPI_Waitsome(count, now.data(), &done, indices.data(), some.data()), what + ", Waitsome");
    if (how == 7) check_ok(MPI_Testsome(count, now.data(), &done, indices.data(), some.data()), what + ", Testsome");
    if (how <= 5) {
      if (flag && index != MPI_UNDEFINED) end(index, status);
    } else {
      for (int k = 0; k < done; ++k) end(indices[k], some[k]);
    }
    tidy();
  }
}

// --- random messages -----------------------------------------------------------------------------

struct Message {
  int from, to, tag;  // ranks of the communicator
  MPI_Comm comm;
  int seed;
  std::unique_ptr<Side> send, receive;
};

// All ranks draw the same numbers.
void random_round(const std::vector<MPI_Comm>& comms, unsigned long seed, long round) {
  Random random(seed * 1000003 + static_cast<unsigned long>(round));
  const std::string what = "partitions";
  contract().section(what + ", seed " + std::to_string(seed) + " round " + std::to_string(round));
  std::vector<Message> messages(static_cast<std::size_t>(pick(random, 1, 6)));
  for (auto& m : messages) {
    m.comm = comms[static_cast<std::size_t>(pick(random, 0, int(comms.size()) - 1))];
    m.from = pick(random, 0, comm_size(m.comm) - 1);
    m.to = pick(random, 0, comm_size(m.comm) - 1);
    m.tag = pick(random, 0, 1);
    m.seed = pick(random, 0, 1 << 20);
    const auto& signature = signatures()[static_cast<std::size_t>(pick(random, 0, int(signatures().size()) - 1))];
    // In elements of the signature: what one side has in a partition, both sides have in all.
    const int sends = pick(random, 1, 9), receives = pick(random, 0, 2) ? pick(random, 1, 9) : sends;
    const int all = std::lcm(sends, receives) * 12 * pick(random, 1, pick(random, 0, 5) ? 20 : 400);
    static constexpr int counts[] = {1, 2, 3, 4, 6, 12};
    const int send_count = counts[pick(random, 0, 5)], receive_count = counts[pick(random, 0, 5)];
    const int send_type = pick(random, 0, 99), receive_type = pick(random, 0, 99);
    int me = 0;
    PMPI_Comm_rank(m.comm, &me);
    if (me == m.from)
      m.send = std::make_unique<Side>(signature, send_type, sends, send_count, all / sends / send_count);
    if (me == m.to)
      m.receive =
          std::make_unique<Side>(signature, receive_type, receives, receive_count, all / receives / receive_count);
  }
  for (auto& m : messages) {
    if (m.receive) check_ok(m.receive->init(false, m.from, m.tag, m.comm), what + ", Precv_init");
    if (m.send) check_ok(m.send->init(true, m.to, m.tag, m.comm), what + ", Psend_init");
  }
  // The program may free what it needs no more.
  if (pick(random, 0, 1))
    for (auto& m : messages) {
      if (m.send) Type unneeded(std::move(m.send->type));
      if (m.receive) Type unneeded(std::move(m.receive->type));
    }
  const int starts = pick(random, 0, 5), one_by_one = pick(random, 0, 1), look = pick(random, 0, 1);
  const int how = pick(random, 0, 7);
  for (int start = 0; start < starts; ++start) {
    std::vector<MPI_Request> requests;
    std::vector<Message*> receivers;
    const auto stream = [&](const Message& m, const Side& side) {
      return data(m.from, m.to, m.seed + start, side.buffer.size());
    };
    for (auto& m : messages) {
      if (m.receive) m.receive->buffer.poison();
      if (m.send) m.send->buffer.put(stream(m, *m.send));
      if (m.receive) requests.push_back(m.receive->request);
      if (m.receive) receivers.push_back(&m);
    }
    for (auto& m : messages)
      if (m.send) requests.push_back(m.send->request);
    if (one_by_one)
      for (auto& request : requests) check_ok(MPI_Start(&request), what + ", Start");
    else if (!requests.empty())  // Open MPI refuses to start nothing
      check_ok(MPI_Startall(int(requests.size()), requests.data()), what + ", Startall");
    for (auto& m : messages)
      if (m.send) make_ready(*m.send, random, what);
    if (look)
      for (auto* m : receivers) {
        auto& side = *m->receive;
        const auto expected = stream(*m, side);
        for (int p = side.partitions - 1; p >= 0; --p) {
          int flag = 0;
          while (!flag && MPI_Parrived(side.request, p, &flag) == MPI_SUCCESS) {
          }
          check(side.part(side.buffer.packed(), p) == side.part(expected, p), what + ", bytes that have arrived");
        }
      }
    std::vector<MPI_Status> statuses(requests.size());
    complete(requests, statuses, how, what);
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      auto& m = *receivers[i];
      m.receive->buffer.expect(stream(m, *m.receive), what + ", bytes");
      int bytes = 0;
      MPI_Get_count(&statuses[i], MPI_BYTE, &bytes);
      if (!ours()) continue;  // MPICH 4 tells no size
      check_equal(bytes, m.receive->buffer.size(), what + ", bytes in the status");
      check_equal(statuses[i].MPI_SOURCE, m.from, what + ", source in the status");
      check_equal(statuses[i].MPI_TAG, m.tag, what + ", tag in the status");
    }
  }
  for (auto& m : messages) {
    if (m.receive) check_ok(MPI_Request_free(&m.receive->request), what + ", Request_free");
    if (m.send) check_ok(MPI_Request_free(&m.send->request), what + ", Request_free");
  }
}

std::vector<MPI_Comm> communicators() {
  std::vector<MPI_Comm> all{MPI_COMM_WORLD, MPI_COMM_SELF};
  const int ranks = contract().ranks, rank = contract().rank, periods = 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &all.emplace_back());
  MPI_Comm_split(all[2], 0, ranks - rank, &all.emplace_back());  // the ranks in another order
  MPI_Cart_create(all[3], 1, &ranks, &periods, 0, &all.emplace_back());
  MPI_Comm_dup(MPI_COMM_SELF, &all.emplace_back());
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &all.emplace_back());  // there are others beside it
  MPI_Comm_dup(all[6], &all.emplace_back());
  if (!std::getenv("CONTRACT_ERRORS_ARE_FATAL"))
    for (MPI_Comm comm : all) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return all;
}

// All ranks end after one number of rounds.
void random_messages(double seconds, unsigned long seed, long only) {
  std::vector<MPI_Comm> comms = communicators();
  // Ranks of different communicators draw the same numbers only where these are of one size.
  if (contract().ranks % 2) comms.resize(6);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (long round = only >= 0 ? only : 0;; ++round) {
    random_round(comms, seed, round);
    int more = only < 0 && Clock::now() < end;
    PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!more) break;
  }
  for (std::size_t i = 2; i < comms.size(); ++i) MPI_Comm_free(&comms[i]);
}

// --- when a partition is on its way --------------------------------------------------------------

// Whether a partition arrives within some seconds.
bool arrives(MPI_Request request, int partition) {
  const auto end = Clock::now() + std::chrono::seconds(5);
  int flag = 0;
  while (!flag && Clock::now() < end) MPI_Parrived(request, partition, &flag);
  return flag;
}

// The sender waits with the other partitions until the receiver has the first.
void early(const Pair& p, const Signature& signature, int which, int n, int receive_parts) {
  const std::string what = "a partition arrives before the others are ready";
  contract().section(what);
  constexpr int parts = 4;
  Side side(signature, which, p.sends ? parts : receive_parts, p.sends ? 3 : 3 * parts / receive_parts, n);
  check_ok(side.init(p.sends, p.peer, 3, MPI_COMM_WORLD), what);
  for (int start = 0; start < 3; ++start) {
    const auto stream = data(p.sends ? p.rank : p.peer, 0, start, side.buffer.size());
    p.sends ? side.buffer.put(stream) : side.buffer.poison();
    check_ok(MPI_Start(&side.request), what);
    if (p.sends) {
      for (int part = 0; part < parts; ++part) {
        check_ok(MPI_Pready(part, side.request), what);
        take_token(p.peer);
      }
    } else {
      for (int part = 0; part < parts; ++part) {
        const int mine = part * side.partitions / parts;
        if ((part + 1) * side.partitions % parts == 0) {
          check(arrives(side.request, mine), what);
          check(side.part(side.buffer.packed(), mine) == side.part(stream, mine), what + ", bytes");
        } else if (side.partitions < parts) {
          int flag = 0;
          MPI_Parrived(side.request, mine, &flag);
          check(!flag, "half a partition has not arrived");
        }
        give_token(p.peer);
      }
    }
    check_ok(MPI_Wait(&side.request, MPI_STATUS_IGNORE), what);
    if (p.receives) side.buffer.expect(stream, what + ", all bytes");
  }
  check_ok(MPI_Request_free(&side.request), what);
}

// The receiver starts before the sender has initialised, and does something else until the sender
// has completed.
void receiver_elsewhere(const Pair& p, int n) {
  const std::string what = "the receiver is in another call";
  contract().section(what);
  Side side(signatures()[0], p.sends ? 2 : 1, p.sends ? 4 : 2, p.sends ? 1 : 2, n);
  if (p.sends) take_token(p.peer);
  check_ok(side.init(p.sends, p.peer, 9, MPI_COMM_WORLD), what);
  for (int start = 0; start < 3; ++start) {
    const auto stream = data(p.sends ? p.rank : p.peer, 0, start, side.buffer.size());
    p.sends ? side.buffer.put(stream) : side.buffer.poison();
    if (p.sends && start > 0) take_token(p.peer);
    check_ok(MPI_Start(&side.request), what);
    if (p.sends) {
      check_ok(MPI_Pready_range(0, side.partitions - 1, side.request), what);
      check_ok(MPI_Wait(&side.request, MPI_STATUS_IGNORE), what);
      side.buffer.poison();
      give_token(p.peer);
    } else {
      give_token(p.peer);
      take_token(p.peer);
      check_ok(MPI_Wait(&side.request, MPI_STATUS_IGNORE), what);
      side.buffer.expect(stream, what);
    }
  }
  check_ok(MPI_Request_free(&side.request), what);
}

// --- what they must not meet ---------------------------------------------------------------------

void apart_from_others(const Pair& p) {
  const std::string what = "a plain message with the tag of a partitioned one";
  contract().section(what);
  constexpr int tag = 5;
  Side side(signatures()[0], 1, 3, 2, 500);
  check_ok(side.init(p.sends, p.peer, tag, MPI_COMM_WORLD), what);
  const auto stream = data(p.sends ? p.rank : p.peer, 0, 0, side.buffer.size());
  p.sends ? side.buffer.put(stream) : side.buffer.poison();
  int plain = 17;
  if (p.sends) {
    check_ok(MPI_Start(&side.request), what);
    check_ok(MPI_Pready_range(0, 2, side.request), what);
    give_token(p.peer);
    take_token(p.peer);
    MPI_Send(&plain, 1, MPI_INT, p.peer, tag, MPI_COMM_WORLD);
  } else {
    take_token(p.peer);
    plain = 0;
    for (int look = 0; look < 100; ++look) {
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      check(!flag, what + ", a probe finds nothing");
    }
    check_ok(MPI_Start(&side.request), what);
    MPI_Request any;
    MPI_Irecv(&plain, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
    give_token(p.peer);
    MPI_Status status;
    check_ok(MPI_Wait(&any, &status), what);
    check_equal(plain, 17, what + ", number");
    check_equal(status.MPI_TAG, tag, what + ", tag");
  }
  check_ok(MPI_Wait(&side.request, MPI_STATUS_IGNORE), what);
  if (p.receives) side.buffer.expect(stream, what);
  check_ok(MPI_Request_free(&side.request), what);
}

// Messages of one tag, started and ready in another order than initialised. Some are never started.
void in_order_of_initialisation(const Pair& p) {
  const std::string what = "matching in the order of initialisation";
  contract().section(what);
  constexpr int messages = 6;
  std::vector<std::unique_ptr<Side>> sides;
  for (int i = 0; i < messages; ++i) {
    sides.push_back(std::make_unique<Side>(signatures()[0], i + p.sends, 2, 1, 40 + i));
    check_ok(sides.back()->init(p.sends, p.peer, 4, MPI_COMM_WORLD), what);
  }
  check_ok(MPI_Request_free(&sides[1]->request), what + ", freed without a start");
  const auto stream = [&](int i) { return data(p.sends ? p.rank : p.peer, i, 0, sides[i]->buffer.size()); };
  for (int k = 0; k < messages; ++k) {
    const int i = p.sends ? messages - 1 - k : k;
    if (i == 1) continue;
    p.sends ? sides[i]->buffer.put(stream(i)) : sides[i]->buffer.poison();
    check_ok(MPI_Start(&sides[i]->request), what);
    if (p.sends) check_ok(MPI_Pready_range(0, 1, sides[i]->request), what);
  }
  for (int i = 0; i < messages; ++i) {
    if (i == 1) continue;
    check_ok(MPI_Wait(&sides[i]->request, MPI_STATUS_IGNORE), what);
    if (p.receives) sides[i]->buffer.expect(stream(i), what);
    check_ok(MPI_Request_free(&sides[i]->request), what);
  }
}

// Messages that repeat themselves, between two device buffers by channels. Their requests are freed
// and made again.
void again_and_again(const Pair& p) {
  const std::string what = "messages that come again";
  contract().section(what);
  constexpr int messages = 3, parts = 2;
  for (int made = 0; made < 6; ++made) {
    in_device_alone = made < 5;  // the last receives meet channels with memory of all kinds
    std::vector<std::unique_ptr<Side>> sides;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < messages; ++i) {
      sides.push_back(std::make_unique<Side>(signatures()[0], i + p.sends, parts, 1, 500));
      check_ok(sides.back()->init(p.sends, p.peer, 10 + i, MPI_COMM_WORLD), what);
      requests.push_back(sides.back()->request);
    }
    // The receiver hears of the sender before its first start, or perhaps not.
    if (made % 2) p.sends ? give_token(p.peer) : take_token(p.peer);
    for (int start = 0; start < 8; ++start) {
      const bool receives_first = start % 4 != 3;
      const auto stream = [&](int i) { return data(p.sends ? p.rank : p.peer, i, start, sides[i]->buffer.size()); };
      for (int i = 0; i < messages; ++i) p.sends ? sides[i]->buffer.put(stream(i)) : sides[i]->buffer.poison();
      if (p.sends && receives_first) take_token(p.peer);
      check_ok(MPI_Startall(messages, requests.data()), what);
      if (p.receives && receives_first) give_token(p.peer);
      for (int i = 0; p.sends && i < messages; ++i) check_ok(MPI_Pready_range(0, parts - 1, requests[i]), what);
      if (made == 2 && p.receives)
        for (int i = messages - 1; i >= 0; --i) check_ok(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), what);
      else
        check_ok(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE), what);
      for (int i = 0; p.receives && i < messages; ++i) sides[i]->buffer.expect(stream(i), what);
    }
    for (auto& request : requests) check_ok(MPI_Request_free(&request), what);
  }
  in_device_alone = false;
}

#if MPI_VERSION >= 4
// One call completes a collective and a partitioned receive. The sender makes its partitions ready
// only when the collective has ended, so the call must not wait for them first. All ranks call it.
void beside_a_collective(const Pair& p) {
  const std::string what = "a partitioned receive beside a neighbour collective";
  contract().section(what);
  MPI_Comm pair = MPI_COMM_NULL, graph = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, p.active ? p.rank / 2 : MPI_UNDEFINED, p.rank, &pair);
  if (!p.active) return;
  const int other = 1 - p.rank % 2, bytes = 4 << 20;
  MPI_Dist_graph_create_adjacent(pair, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  Bytes out(bytes, static_cast<unsigned char>(p.rank)), in(bytes);
  MPI_Request requests[2];  // the collective, and the partitioned message
  check_ok(MPI_Neighbor_alltoall_init(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, graph, MPI_INFO_NULL,
                                      &requests[0]),
           what);
  Side side(signatures()[0], 1 + p.sends, 2, 1, 300);
  check_ok(side.init(p.sends, p.peer, 11, MPI_COMM_WORLD), what);
  requests[1] = side.request;
  for (int start = 0; start < 4; ++start) {
    const auto stream = data(p.sends ? p.rank : p.peer, 0, start, side.buffer.size());
    p.sends ? side.buffer.put(stream) : side.buffer.poison();
    std::fill(in.begin(), in.end(), 0xee);
    check_ok(MPI_Startall(2, requests), what);
    if (p.sends) {
      check_ok(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), what);
      check_ok(MPI_Pready_range(0, 1, requests[1]), what);
      check_ok(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), what);
    } else {
      check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), what);
      side.buffer.expect(stream, what);
    }
    check(in == Bytes(bytes, static_cast<unsigned char>(p.peer)), what + ", bytes of the collective");
  }
  for (auto& request : requests) check_ok(MPI_Request_free(&request), what);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&pair);
}
#else
void beside_a_collective(const Pair&) {}
#endif

// --- nothing to send, nobody to send to, errors --------------------------------------------------

void nothing(const Pair& p) {
  const std::string what = "empty partitions";
  contract().section(what);
  for (int parts : {0, 3}) {
    MPI_Request request = MPI_REQUEST_NULL;
    int unused = 0;
    const int mine = p.sends ? parts : 3 - parts;
    check_ok(p.sends ? MPI_Psend_init(&unused, mine, 0, MPI_INT, p.peer, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                     : MPI_Precv_init(&unused, mine, 0, MPI_INT, p.peer, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
             what);
    for (int start = 0; start < 2; ++start) {
      check_ok(MPI_Start(&request), what);
      if (p.sends && mine > 0) check_ok(MPI_Pready_range(0, mine - 1, request), what);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
    }
    check_ok(MPI_Request_free(&request), what);
  }
}

void nobody() {
  const std::string what = "MPI_PROC_NULL";
  contract().section(what);
  for (bool sends : {true, false}) {
    Side side(signatures()[0], 1, 3, 1, 10);
    side.buffer.poison();
    check_ok(side.init(sends, MPI_PROC_NULL, 1, MPI_COMM_WORLD), what);
    for (int start = 0; start < 2; ++start) {
      check_ok(MPI_Start(&side.request), what);
      if (sends) check_ok(MPI_Pready_range(0, 2, side.request), what);
      MPI_Status status = blank_status();
      check_ok(MPI_Wait(&side.request, &status), what);
      if (sends) continue;
      int bytes = -1;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      check(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && bytes == 0, what + ", status");
      side.buffer.expect_untouched(what);
    }
    check_ok(MPI_Request_free(&side.request), what);
  }
}

int handled = 0;
void handler(MPI_Comm*, int*, ...) { ++handled; }

void errors() {
  const std::string what = "errors";
  contract().section(what);
  MPI_Comm comm;
  MPI_Errhandler ours;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(handler, &ours);
  MPI_Comm_set_errhandler(comm, ours);
  Side send(signatures()[0], 1, 3, 1, 10), receive(signatures()[0], 0, 3, 1, 10);
  check_ok(send.init(true, 0, 1, comm), what);
  check_ok(receive.init(false, 0, 1, comm), what);
  const auto fails = [&](int code, int expected, const char* why) {
    check_class(code, expected, what + ", " + why);
    check_equal(std::exchange(handled, 0), 1, what + ", handler, " + why);
  };
  fails(MPI_Pready(0, send.request), MPI_ERR_REQUEST, "before the start");
  for (int start = 0; start < 2; ++start) {
    int flag = 0, list[] = {1, 3};
    check_ok(MPI_Start(&send.request), what);
    check_ok(MPI_Start(&receive.request), what);
    fails(MPI_Pready(3, send.request), MPI_ERR_ARG, "no such partition");
    fails(MPI_Pready(-1, send.request), MPI_ERR_ARG, "a negative partition");
    fails(MPI_Pready_range(2, 1, send.request), MPI_ERR_ARG, "an empty range");
    fails(MPI_Pready_list(2, list, send.request), MPI_ERR_ARG, "a list with no such partition");
    fails(MPI_Pready(0, receive.request), MPI_ERR_REQUEST, "a receive is made ready");
    fails(MPI_Parrived(send.request, 0, &flag), MPI_ERR_REQUEST, "a send arrives");
    fails(MPI_Parrived(receive.request, 3, &flag), MPI_ERR_ARG, "no such partition arrives");
    check_ok(MPI_Pready(0, send.request), what);
    fails(MPI_Pready(0, send.request), MPI_ERR_ARG, "ready twice");
    check_ok(MPI_Pready_range(1, 2, send.request), what);
    check_ok(MPI_Wait(&send.request, MPI_STATUS_IGNORE), what);
    check_ok(MPI_Wait(&receive.request, MPI_STATUS_IGNORE), what);
    check_ok(MPI_Parrived(receive.request, 1, &flag), what);
    check(flag, what + ", all have arrived of what has ended");
    check_equal(handled, 0, what + ", handler");
  }
  check_ok(MPI_Request_free(&send.request), what);
  // The message is longer than the receive.
  Side more(signatures()[0], 1, 4, 1, 10);
  check_ok(more.init(true, 0, 1, comm), what);
  Side less(signatures()[0], 0, 3, 1, 10);
  check_ok(less.init(false, 0, 1, comm), what);
  check_ok(MPI_Start(&more.request), what);
  check_ok(MPI_Start(&less.request), what);
  check_ok(MPI_Pready_range(0, 3, more.request), what);
  check_ok(MPI_Wait(&more.request, MPI_STATUS_IGNORE), what);
  MPI_Wait(&less.request, MPI_STATUS_IGNORE);
  check_equal(std::exchange(handled, 0), 1, what + ", handler, a message that is too long");
  for (auto* side : {&receive, &more, &less}) check_ok(MPI_Request_free(&side->request), what);
  MPI_Errhandler_free(&ours);
  MPI_Comm_free(&comm);
}

// --- several threads -----------------------------------------------------------------------------

// Each thread makes some partitions ready, or looks for some, while one thread waits for all.
void by_threads(const Pair& p, unsigned long seed) {
  const std::string what = "threads";
  contract().section(what);
  constexpr int threads = 4, parts = 24;
  Random random(seed);
  Side side(signatures()[0], p.sends ? 2 : 1, p.sends ? parts : parts / 3, p.sends ? 1 : 3, 700);
  check_ok(side.init(p.sends, p.peer, 6, MPI_COMM_WORLD), what);
  for (int start = 0; start < 20; ++start) {
    const auto stream = data(p.sends ? p.rank : p.peer, 0, start, side.buffer.size());
    p.sends ? side.buffer.put(stream) : side.buffer.poison();
    std::vector<int> order(static_cast<std::size_t>(side.partitions));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    check_ok(MPI_Start(&side.request), what);
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
      all.emplace_back([&, thread] {
        for (std::size_t i = static_cast<std::size_t>(thread); i < order.size(); i += threads) {
          if (p.sends)
            check_ok(MPI_Pready(order[i], side.request), what);
          else
            check(arrives(side.request, order[i]), what);
        }
      });
    if (start % 2 == 0) check_ok(MPI_Wait(&side.request, MPI_STATUS_IGNORE), what);
    for (auto& thread : all) thread.join();
    if (start % 2) check_ok(MPI_Wait(&side.request, MPI_STATUS_IGNORE), what);
    if (p.receives) side.buffer.expect(stream, what);
  }
  check_ok(MPI_Request_free(&side.request), what);
}

void run(double seconds, unsigned long seed, long only) {
  const Pair p;
  if (only < 0 && p.active) {
    in_order_of_initialisation(p);
    apart_from_others(p);
    again_and_again(p);
    nothing(p);
    receiver_elsewhere(p, 60000);
    receiver_elsewhere(p, 10);
    if (ours()) {
      for (int n : {1, 100, 20000}) early(p, signatures()[0], p.sends ? 1 : 2, n, 4);
      early(p, signatures()[1], p.sends ? 1 : 2, 30, 2);
      early(p, signatures()[0], 0, 2000, 2);
    }
    if (contract().provided == MPI_THREAD_MULTIPLE) by_threads(p, seed);
  }
  if (only < 0 && ours()) nobody(), errors(), beside_a_collective(p);
  MPI_Barrier(MPI_COMM_WORLD);
  random_messages(seconds, seed, only);
}

CONTRACT_PROGRAM(partitions) {
  const bool threads = argc > 1 && std::strcmp(argv[argc - 1], "threads") == 0;
  Contract contract("partitions", &argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  if (threads) --argc;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  if (partitioned_calls())
    run(seconds, seed, argc > 3 ? std::atol(argv[3]) : -1);
  else
    contract.skip("this MPI has no partitioned calls");
  return contract.finish();
}

}  // namespace partitions_contract
