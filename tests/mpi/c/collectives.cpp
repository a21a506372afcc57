// Every collective that moves data, in each of its forms, with datatypes that are not contiguous.
#include "surface.hpp"
#include "team.hpp"

namespace collectives_contract {

constexpr auto bcast = FAMILY(Bcast, Ibcast);
constexpr auto gather = FAMILY(Gather, Igather);
constexpr auto gatherv = FAMILY(Gatherv, Igatherv);
constexpr auto scatter = FAMILY(Scatter, Iscatter);
constexpr auto scatterv = FAMILY(Scatterv, Iscatterv);
constexpr auto allgather = FAMILY(Allgather, Iallgather);
constexpr auto allgatherv = FAMILY(Allgatherv, Iallgatherv);
constexpr auto alltoall = FAMILY(Alltoall, Ialltoall);
constexpr auto alltoallv = FAMILY(Alltoallv, Ialltoallv);
constexpr auto alltoallw = FAMILY(Alltoallw, Ialltoallw);
constexpr auto reduce = FAMILY(Reduce, Ireduce);
constexpr auto allreduce = FAMILY(Allreduce, Iallreduce);
constexpr auto reduce_scatter = FAMILY(Reduce_scatter, Ireduce_scatter);
constexpr auto reduce_scatter_block = FAMILY(Reduce_scatter_block, Ireduce_scatter_block);
constexpr auto scan = FAMILY(Scan, Iscan);
constexpr auto exscan = FAMILY(Exscan, Iexscan);
constexpr auto isend = FUNCTION(MPI_Isend);
constexpr auto irecv = FUNCTION(MPI_Irecv);
constexpr auto reduce_local = FUNCTION(MPI_Reduce_local);
constexpr auto reduce_local_large = FUNCTION(MPI_Reduce_local_c);

void* const kInPlace = MPI_IN_PLACE;
void* const kNull = nullptr;

// One way to use all of them: a signature, n of its elements in each block, another layout for each
// rank.
struct Case {
  const Team& team;
  const Signature& signature;
  int n;

  int me = contract().rank;
  std::string name() const { return team.name + ", " + signature.name + ", n " + std::to_string(n); }
  std::size_t bytes(int blocks) const { return std::size_t(blocks) * n * signature.bytes; }
  // Sent as one element of several blocks, received as several elements of one block. Between two
  // sides as several elements both times: the counts of one side are used with the types of the
  // other in Open MPI 4.1.
  bool whole = !team.inter;
  Type send_type(int blocks) const { return signature.type(me, whole ? std::max(1, blocks) * n : n); }
  int send_count(int blocks) const { return whole ? blocks != 0 : blocks; }
  Type receive_type() const { return signature.type(me + 1, n); }
  Ints roots() const { return brief() || n < 100 ? team.everyone() : Ints{team.everyone().back()}; }
};

// How many blocks `from` has for `to`; some have none.
int amount(int from, int to) { return (from + 2 * to) % 3; }

// Where blocks of several elements lie: the last one first, with a hole between two.
struct Places {
  Counts counts;
  Displs displs;
  std::vector<Buffer::Block> blocks;

  Places(const Ints& counts_, MPI_Datatype type) : counts(counts_) {
    const int extent = int(type_extent(type));
    Ints at(counts_.size());
    int next = 0;
    for (int i = int(at.size()) - 1; i >= 0; next += counts_[i] + 1, --i) at[i] = next;
    displs = Displs(at);
    for (std::size_t i = 0; i < at.size(); ++i) blocks.push_back({type, counts_[i], MPI_Aint(at[i]) * extent});
  }
};

Places even_places(const Team& team, int count, MPI_Datatype type) {
  Places p({}, type);
  for (int i = 0; i < team.peers(); ++i) p.blocks.push_back({type, count, i * count * type_extent(type)});
  return p;
}

void broadcasts(const Case& c) {
  for (int r : c.roots()) {
    const Root root(c.team, r);
    const Type type = root.is_me ? c.send_type(2) : c.receive_type();
    const int count = root.is_me ? c.send_count(2) : 2;
    Buffer buffer(type, count);
    const auto before = [&](int round) { root.is_me ? buffer.put(data(r, -1, round, c.bytes(2))) : buffer.poison(); };
    const auto after = [&](int round, const std::string& label) {
      root.takes_part ? buffer.expect(data(r, -1, round, c.bytes(2)), label) : buffer.expect_untouched(label);
    };
    const std::string what = c.name() + root.name();
    if (root.takes_part)
      every_form(bcast, what, before, after, buffer.address(), count, MPI_Datatype(type), root.argument, root.comm);
    else
      every_form(bcast, what, before, after, kNull, 0, MPI_Datatype(type), root.argument, root.comm);
  }
}

// Gather and Gatherv: what differs is where the blocks lie and how many each rank sends.
void gathers(const Case& c, bool in_place) {
  for (int r : c.roots()) {
    const Root root(c.team, r);
    const std::string what = c.name() + (in_place ? ", in place" : "") + root.name();
    const bool sends = c.team.inter ? !root.takes_part ? false : !root.is_me : !(in_place && root.is_me);
    const auto go = [&](const auto& family, bool v) {
      const auto share = [&](int from) { return v ? amount(from, r) : 2; };
      const Type send_type = c.send_type(share(c.me)), receive_type = c.receive_type();
      const int send_count = sends ? c.send_count(share(c.me)) : 0;
      Buffer send(send_type, send_count);
      Ints shares;
      for (int p : c.team.remote) shares.push_back(share(p));
      const Places places = v ? Places(shares, receive_type) : even_places(c.team, 2, receive_type);
      Buffer receive(places.blocks);
      const auto before = [&](int round) {
        send.put(data(c.me, r, round, c.bytes(send_count ? share(c.me) : 0)));
        receive.poison();
        if (in_place && root.is_me) receive.put_block(c.team.rank, data(r, r, round, c.bytes(share(r))));
      };
      const auto after = [&](int round, const std::string& label) {
        Bytes all;
        if (root.is_me)
          for (int p : c.team.remote) all += data(p, r, round, c.bytes(share(p)));
        receive.expect(all, label);
        send.expect(data(c.me, r, round, send.size()), label + ", what was sent");
      };
      void* const from = sends ? send.address() : in_place ? kInPlace : kNull;
      const MPI_Datatype s = sends ? MPI_Datatype(send_type) : MPI_DATATYPE_NULL;
      const MPI_Datatype t = root.is_me ? MPI_Datatype(receive_type) : MPI_DATATYPE_NULL;
      void* const to = root.is_me ? receive.address() : kNull;
      if constexpr (std::is_same_v<decltype(family), decltype(gatherv)&>)
        every_form(family, what, before, after, from, send_count, s, to, root.is_me ? places.counts : Counts(),
                   root.is_me ? places.displs : Displs(), t, root.argument, root.comm);
      else
        every_form(family, what, before, after, from, send_count, s, to, root.is_me ? 2 : 0, t, root.argument,
                   c.team.comm);
    };
    go(gather, false);
    go(gatherv, true);
  }
}

void scatters(const Case& c, bool in_place) {
  for (int r : c.roots()) {
    const Root root(c.team, r);
    const std::string what = c.name() + (in_place ? ", in place" : "") + root.name();
    const bool receives = c.team.inter ? root.takes_part && !root.is_me : !(in_place && root.is_me);
    const auto go = [&](const auto& family, bool v) {
      const auto share = [&](int to) { return v ? amount(r, to) : 2; };
      const Type send_type = c.receive_type(), receive_type = c.send_type(share(c.me));
      const int receive_count = receives ? c.send_count(share(c.me)) : 0;
      Buffer receive(receive_type, receive_count);
      Ints shares;
      for (int p : c.team.remote) shares.push_back(share(p));
      const Places places = v ? Places(shares, send_type) : even_places(c.team, 2, send_type);
      Buffer send(places.blocks);
      const auto sent = [&](int round) {
        Bytes all;
        for (int p : c.team.remote) all += data(r, p, round, c.bytes(share(p)));
        return all;
      };
      const auto before = [&](int round) {
        send.put(sent(round));
        receive.poison();
      };
      const auto after = [&](int round, const std::string& label) {
        receive.expect(data(r, c.me, round, receive.size()), label);
        send.expect(sent(round), label + ", what was sent");
      };
      void* const to = receives ? receive.address() : in_place ? kInPlace : kNull;
      const MPI_Datatype t = receives ? MPI_Datatype(receive_type) : MPI_DATATYPE_NULL;
      const MPI_Datatype s = root.is_me ? MPI_Datatype(send_type) : MPI_DATATYPE_NULL;
      void* const from = root.is_me ? send.address() : kNull;
      if constexpr (std::is_same_v<decltype(family), decltype(scatterv)&>)
        every_form(family, what, before, after, from, root.is_me ? places.counts : Counts(),
                   root.is_me ? places.displs : Displs(), s, to, receive_count, t, root.argument, root.comm);
      else
        every_form(family, what, before, after, from, root.is_me ? 2 : 0, s, to, receive_count, t, root.argument,
                   c.team.comm);
    };
    go(scatter, false);
    go(scatterv, true);
  }
}

void allgathers(const Case& c, bool in_place) {
  const std::string what = c.name() + (in_place ? ", in place" : "");
  const auto go = [&](const auto& family, bool v) {
    // An intercommunicator's two sides may give different amounts, but everyone of a side knows of
    // them.
    const auto share = [&](int from) { return v ? from % 3 : 2; };
    const Type send_type = c.send_type(share(c.me)), receive_type = c.receive_type();
    const int send_count = in_place ? 0 : c.send_count(share(c.me));
    Buffer send(send_type, send_count);
    Ints shares;
    for (int p : c.team.remote) shares.push_back(share(p));
    const Places places = v ? Places(shares, receive_type) : even_places(c.team, 2, receive_type);
    Buffer receive(places.blocks);
    const auto before = [&](int round) {
      send.put(data(c.me, -1, round, send.size()));
      receive.poison();
      if (in_place) receive.put_block(c.team.rank, data(c.me, -1, round, c.bytes(share(c.me))));
    };
    const auto after = [&](int round, const std::string& label) {
      Bytes all;
      for (int p : c.team.remote) all += data(p, -1, round, c.bytes(share(p)));
      receive.expect(all, label);
      send.expect(data(c.me, -1, round, send.size()), label + ", what was sent");
    };
    void* const from = in_place ? kInPlace : send.address();
    const MPI_Datatype s = in_place ? MPI_DATATYPE_NULL : MPI_Datatype(send_type);
    if constexpr (std::is_same_v<decltype(family), decltype(allgatherv)&>)
      every_form(family, what, before, after, from, send_count, s, receive.address(), places.counts, places.displs,
                 MPI_Datatype(receive_type), c.team.comm);
    else
      every_form(family, what, before, after, from, send_count, s, receive.address(), 2, MPI_Datatype(receive_type),
                 c.team.comm);
  };
  go(allgather, false);
  go(allgatherv, true);
}

void alltoalls(const Case& c, bool in_place) {
  const std::string what = c.name() + (in_place ? ", in place" : "");
  const auto go = [&](const auto& family, bool v) {
    // In place, what comes from a rank lies where what went to it lay.
    const auto share = [&](int from, int to) { return !v ? 2 : in_place ? (from + to) % 3 : amount(from, to); };
    const Type send_type = c.signature.type(c.me, c.n), receive_type = c.receive_type();
    Ints sends, receives;
    for (int p : c.team.remote) {
      sends.push_back(share(c.me, p));
      receives.push_back(share(p, c.me));
    }
    const Places out = v ? Places(sends, send_type) : even_places(c.team, 2, send_type);
    const Places in = v ? Places(receives, receive_type) : even_places(c.team, 2, receive_type);
    Buffer send(out.blocks), receive(in.blocks);
    const auto sent = [&](int round) {
      Bytes all;
      for (int p : c.team.remote) all += data(c.me, p, round, c.bytes(share(c.me, p)));
      return all;
    };
    const auto before = [&](int round) {
      send.put(sent(round));
      in_place ? receive.put(sent(round)) : receive.poison();
    };
    const auto after = [&](int round, const std::string& label) {
      Bytes all;
      for (int p : c.team.remote) all += data(p, c.me, round, c.bytes(share(p, c.me)));
      receive.expect(all, label);
      send.expect(sent(round), label + ", what was sent");
    };
    void* const from = in_place ? kInPlace : send.address();
    const MPI_Datatype s = in_place ? MPI_DATATYPE_NULL : MPI_Datatype(send_type);
    if constexpr (std::is_same_v<decltype(family), decltype(alltoallv)&>)
      every_form(family, what, before, after, from, in_place ? Counts() : out.counts, in_place ? Displs() : out.displs,
                 s, receive.address(), in.counts, in.displs, MPI_Datatype(receive_type), c.team.comm);
    else
      every_form(family, what, before, after, from, in_place ? 0 : 2, s, receive.address(), 2,
                 MPI_Datatype(receive_type), c.team.comm);
  };
  go(alltoall, false);
  go(alltoallv, true);
}

// A type of its own for each partner.
struct Mix {
  std::vector<Type> owned;
  Types types;
  Counts counts;
  Displs displs;
  std::vector<Buffer::Block> blocks;

  // shares[i] blocks for partner i; one element of all blocks if `whole`, else one element each.
  Mix(const Case& c, const Ints& shares, int first, bool whole) {
    Ints numbers, at;
    int next = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      owned.push_back(c.signature.type(first + int(i), whole ? std::max(1, shares[i]) * c.n : c.n));
      const MPI_Datatype type = owned.back();
      const int count = whole ? shares[i] != 0 : shares[i];
      const Bounds reach = bounds_of(typemap(type, count));
      numbers.push_back(count);
      at.push_back(next - int(reach.begin));
      next += int(reach.end - reach.begin) + 13;
      types.push_back(type);
      blocks.push_back({type, count, at.back()});
    }
    counts = Counts(numbers);
    displs = Displs(at);
  }
};

void alltoalls_w(const Case& c, bool in_place) {
  const auto share = [&](int from, int to) { return in_place ? (from + to) % 3 : amount(from, to); };
  Ints sends, receives;
  for (int p : c.team.remote) {
    sends.push_back(share(c.me, p));
    receives.push_back(share(p, c.me));
  }
  const Mix out(c, sends, c.me, c.whole), in(c, receives, c.me + 2, false);
  Buffer send(out.blocks), receive(in.blocks);
  const auto sent = [&](int round) {
    Bytes all;
    for (int p : c.team.remote) all += data(c.me, p, round, c.bytes(share(c.me, p)));
    return all;
  };
  const auto before = [&](int round) {
    send.put(sent(round));
    in_place ? receive.put(sent(round)) : receive.poison();
  };
  const auto after = [&](int round, const std::string& label) {
    Bytes all;
    for (int p : c.team.remote) all += data(p, c.me, round, c.bytes(share(p, c.me)));
    receive.expect(all, label);
    send.expect(sent(round), label + ", what was sent");
  };
  every_form(alltoallw, c.name() + (in_place ? ", in place" : ""), before, after, in_place ? kInPlace : send.address(),
             in_place ? Counts() : out.counts, in_place ? Displs() : out.displs, in_place ? nullptr : out.types.data(),
             receive.address(), in.counts, in.displs, in.types.data(), c.team.comm);
}

// --- reductions ----------------------------------------------------------------------------------

// An operation that is associative and not commutative, on pairs of numbers: the maps x -> a x + b,
// one after the other.
struct Map {
  unsigned a, b;
};
Map after(Map first, Map second) { return {first.a * second.a, second.a * first.b + second.b}; }

// `left` op `right`, of streams of pairs.
Bytes combine(const Bytes& left, const Bytes& right) {
  Bytes out(left.size());
  for (std::size_t i = 0; i + sizeof(Map) <= left.size(); i += sizeof(Map)) {
    Map l, r;
    std::memcpy(&l, left.data() + i, sizeof l);
    std::memcpy(&r, right.data() + i, sizeof r);
    const Map both = after(l, r);
    std::memcpy(out.data() + i, &both, sizeof both);
  }
  return out;
}

// What the operation works on now: it is told a type, and must find its elements in the gaps.
struct Operand {
  MPI_Datatype type;
  Typemap one;
  MPI_Aint extent;
} operand;

void apply(const void* in, void* inout, MPI_Count n, MPI_Datatype type) {
  check(type == operand.type, "the operation is told the type that the program gave");
  Typemap map;
  append_block(map, operand.one, operand.extent, n, 0);
  const Bytes both = combine(oracle_pack(map, static_cast<const unsigned char*>(in)),
                             oracle_pack(map, static_cast<unsigned char*>(inout)));
  oracle_unpack(map, both, static_cast<unsigned char*>(inout));
}
extern "C" void op_small(void* in, void* inout, int* n, MPI_Datatype* type) { apply(in, inout, *n, *type); }
#if MPI_VERSION >= 4
extern "C" void op_large(void* in, void* inout, MPI_Count* n, MPI_Datatype* type) { apply(in, inout, *n, *type); }
#endif

MPI_Op make_op(bool large) {
  MPI_Op op;
#if MPI_VERSION >= 4
  if (large) {
    MPI_Op_create_c(op_large, 0, &op);
    return op;
  }
#endif
  (void)large;
  MPI_Op_create(op_small, 0, &op);
  return op;
}

using namespace make;
const Sample operands[] = {
    {"strided pairs", [](int n) { return vector(n, 2, 5, MPI_INT); }},
    {"spread struct",
     [](int n) {
       return owned(
           owned(structure({1, 1}, {0, 12}, {MPI_INT, MPI_INT}), [](MPI_Datatype t) { return resized(0, 24, t); }),
           [n](MPI_Datatype t) { return contiguous(n, t); });
     }},
    {"falling pairs",
     [](int n) {
       Ints disps;
       for (int i = 0; i < n; ++i) disps.push_back(3 * (n - i));
       return indexed_block(2, disps, MPI_INT);
     }},
};

void reductions(const Team& team, const Sample& sample, int n, MPI_Op op) {
  const int me = contract().rank;
  const std::string name = team.name + ", " + sample.name + ", n " + std::to_string(n);
  const Type type(sample.make(n));
  const MPI_Datatype t = type;
  operand = {t, typemap(t), type.extent()};
  const std::size_t each = std::size_t(n) * sizeof(Map);
  // The combination of the first `ranks` of those that give me something.
  const auto total = [&](int ranks, int count, int round) {
    Bytes all = data(team.remote[0], -1, round, count * each);
    for (int i = 1; i < ranks; ++i) all = combine(all, data(team.remote[i], -1, round, count * each));
    return all;
  };
  const auto part = [&](const Bytes& all, int first, int count) {
    return Bytes(all.begin() + first * each, all.begin() + (first + count) * each);
  };
  const auto mine = [&](int count, int round) { return data(me, -1, round, count * each); };

  for (bool in_place : {false, true}) {
    if (in_place && team.inter) continue;
    const std::string what = name + (in_place ? ", in place" : "");
    {
      Buffer send(t, 2), receive(t, 2);
      const auto before = [&](int round) {
        send.put(mine(2, round));
        in_place ? receive.put(mine(2, round)) : receive.poison();
      };
      void* const from = in_place ? kInPlace : send.address();
      every_form(
          allreduce, what, before,
          [&](int round, const std::string& label) {
            receive.expect(total(team.peers(), 2, round), label);
            send.expect(mine(2, round), label + ", what was sent");
          },
          from, receive.address(), 2, t, op, team.comm);
      if (!team.inter) {
        every_form(
            scan, what, before,
            [&](int round, const std::string& label) { receive.expect(total(me + 1, 2, round), label); }, from,
            receive.address(), 2, t, op, team.comm);
        every_form(
            exscan, what, before,
            [&](int round, const std::string& label) {
              if (me > 0) receive.expect(total(me, 2, round), label);  // the first rank's is undefined
            },
            from, receive.address(), 2, t, op, team.comm);
      }
      for (int r : brief() || n < 100 ? team.everyone() : Ints{0}) {
        const Root root(team, r);
        const bool here = in_place && root.is_me, gives = team.inter ? root.takes_part && !root.is_me : !here;
        // MPICH 4.0 wants the root between two sides to have something to give as well.
        void* const send_at = gives || team.inter ? send.address() : here ? kInPlace : kNull;
        every_form(
            reduce, what + root.name(),
            [&](int round) {
              send.put(mine(2, round));
              here ? receive.put(mine(2, round)) : receive.poison();
            },
            [&](int round, const std::string& label) {
              root.is_me ? receive.expect(total(team.peers(), 2, round), label) : receive.expect_untouched(label);
            },
            send_at, root.is_me ? receive.address() : kNull, 2, t, op, root.argument, root.comm);
      }
    }
    const int locals = int(team.local.size());
    {  // in blocks of one size; twelve is a multiple of every number of ranks
      const int share = 12 / locals;
      Buffer send(t, 12), receive(t, in_place ? 12 : share);
      every_form(
          reduce_scatter_block, what,
          [&](int round) {
            send.put(mine(12, round));
            in_place ? receive.put(mine(12, round)) : receive.poison();
          },
          [&](int round, const std::string& label) {
            const Bytes result = part(total(team.peers(), 12, round), team.rank * share, share);
            if (in_place) {  // the rest of the buffer is anything
              const Bytes got = receive.packed();
              check(part(got, 0, share) == result, label);
            } else {
              receive.expect(result, label);
            }
          },
          in_place ? kInPlace : send.address(), receive.address(), share, t, op, team.comm);
    }
    {  // in blocks of 0, 1, 2... elements, the last one takes what is left of six
      Ints shares;
      int left = 6, first = 0;
      for (int i = 0; i < locals; left -= shares.back(), ++i) shares.push_back(i + 1 < locals ? i : left);
      for (int i = 0; i < team.rank; ++i) first += shares[i];
      const int share = shares[team.rank];
      Buffer send(t, 6), receive(t, in_place ? 6 : share);
      every_form(
          reduce_scatter, what,
          [&](int round) {
            send.put(mine(6, round));
            in_place ? receive.put(mine(6, round)) : receive.poison();
          },
          [&](int round, const std::string& label) {
            const Bytes result = part(total(team.peers(), 6, round), first, share);
            in_place ? check(part(receive.packed(), 0, share) == result, label) : receive.expect(result, label);
          },
          in_place ? kInPlace : send.address(), receive.address(), Counts(shares), t, op, team.comm);
    }
  }
}

void local_reductions(MPI_Op op) {
  for (const Sample& sample : operands) {
    const Type type(sample.make(20));
    const MPI_Datatype t = type;
    operand = {t, typemap(t), type.extent()};
    Buffer in(t, 3), inout(t, 3);
    const Bytes left = data(1, 2, 3, in.size()), right = data(2, 3, 4, in.size());
    const auto go = [&](const auto& function, bool required) {
      const std::string label = function.name + (std::string(", ") + sample.name);
      contract().section(label);
      in.put(left);
      inout.put(right);
      const auto call = [&](auto... a) {
        if constexpr (std::decay_t<decltype(function)>::template takes<decltype(a)...>) {
          if (!went(function(a...), label)) return;
          inout.expect(combine(left, right), label);
          in.expect(left, label + ", the other operand");
        } else {
          check(!required, label + " is missing");
        }
      };
      call(in.address(), inout.address(), 3, t, op);
    };
    go(reduce_local, true);
    go(reduce_local_large, kMpi4);
  }
}

// --- nothing to do, and much at once -------------------------------------------------------------

void nothing(const Team& team, MPI_Op op) {
  const Type type = signatures()[0].type(1, 10);
  const MPI_Datatype t = type;
  operand = {t, typemap(t), type.extent()};
  Buffer buffer(t, 1);
  const Ints zeros(team.peers(), 0);
  const auto before = [&](int) { buffer.poison(); };
  const auto after = [&](int, const std::string& label) { buffer.expect_untouched(label); };
  const auto none = [&](const auto& family, const auto&... arguments) {
    every_form(family, "zero counts, " + team.name, before, after, arguments..., team.comm);
  };
  void* const at = buffer.address();
  none(bcast, at, 0, t, 0);
  none(gather, at, 0, t, at, 0, t, 0);
  none(scatter, at, 0, t, at, 0, t, 0);
  none(allgather, at, 0, t, at, 0, t);
  none(alltoall, at, 0, t, at, 0, t);
  none(allgatherv, at, 0, t, at, Counts(zeros), Displs(zeros), t);
  none(alltoallv, at, Counts(zeros), Displs(zeros), t, at, Counts(zeros), Displs(zeros), t);
  none(allreduce, kInPlace, at, 0, t, op);
  none(scan, kInPlace, at, 0, t, op);
}

// Collectives and messages under way together, completed by one call; their types are freed
// meanwhile.
void together(const Team& team) {
  const int me = contract().rank, ranks = contract().ranks;
  const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
  for (int n : {5, 3000}) {
    const std::string what = "with messages under way, n " + std::to_string(n);
    contract().section(what);
    const auto make = [&](int which) { return signatures()[0].layouts[which % 5](n); };
    MPI_Datatype types[] = {make(me), make(me + 1), make(me + 2), make(me + 3)};
    for (MPI_Datatype& t : types) MPI_Type_commit(&t);
    Buffer word(types[0], 1), all(types[1], ranks), out(types[2], 1), in(types[3], 1), own(types[0], 1);
    me == 0 ? word.put(data(0, -1, n, word.size())) : word.poison();
    own.put(data(me, -1, n, own.size()));
    out.put(data(me, right, n, out.size()));
    MPI_Request request[4];
    check_ok(irecv(in.address(), 1, types[3], left, 7, team.comm, &request[0]), what + ", Irecv");
    check_ok(bcast.small.nonblocking(word.address(), 1, types[0], 0, team.comm, &request[1]), what + ", Ibcast");
    check_ok(isend(out.address(), 1, types[2], right, 7, team.comm, &request[2]), what + ", Isend");
    check_ok(
        allgather.small.nonblocking(own.address(), 1, types[0], all.address(), 1, types[1], team.comm, &request[3]),
        what + ", Iallgather");
    for (MPI_Datatype& t : types) MPI_Type_free(&t);
    check_ok(MPI_Waitall(4, request, MPI_STATUSES_IGNORE), what + ", Waitall");
    Bytes everyone;
    for (int r = 0; r < ranks; ++r) everyone += data(r, -1, n, own.size());
    word.expect(data(0, -1, n, word.size()), what + ", Ibcast");
    all.expect(everyone, what + ", Iallgather");
    in.expect(data(left, me, n, in.size()), what + ", the message");
  }
}

CONTRACT_PROGRAM(collectives) {
  Contract contract("collectives", &argc, &argv);
  wanted().insert(argv + 1, argv + argc);
  std::vector<Team> teams = {everyone_together()};
  if (contract.ranks > 1) teams.push_back(two_sides());
  MPI_Op op[] = {make_op(false), make_op(true)};
  for (const Team& team : teams) {
    for (const Signature& signature : signatures())
      for (int n : signature.sizes()) {
        const Case c{team, signature, n};
        broadcasts(c);
        for (bool in_place : {false, true}) {
          if (in_place && team.inter) continue;
          gathers(c, in_place);
          scatters(c, in_place);
          allgathers(c, in_place);
          alltoalls(c, in_place);
          alltoalls_w(c, in_place);
        }
      }
    for (const Sample& sample : operands)
      for (int n : brief() ? Ints{200} : Ints{1, 200, 3000}) reductions(team, sample, n, op[n == 200]);
  }
  local_reductions(op[0]);
  nothing(teams[0], op[0]);
  together(teams[0]);
  say_called();
  for (MPI_Op& o : op) MPI_Op_free(&o);
  for (Team& team : teams) MPI_Comm_free(&team.comm);
  return contract.finish();
}

}  // namespace collectives_contract
