// Which types does this MPI itself pack or unpack wrongly? Enumerates small families of types
// systematically and compares PMPI_Pack and PMPI_Unpack with the brute-force typemap. One JSON line
// per family on standard output; with -v one line per wrong type as well. Runs on one rank.
//
// "torn" counts the types that only one of MPI_Pack, seen by whatever is loaded in front of the
// MPI, and PMPI_Pack gets right: those would be packed by one engine on one side of a message and
// by another on the other.
#include <mpi.h>

#include <csetjmp>
#include <csignal>
#include <functional>
#include <map>

#include "describe.hpp"
#include "make.hpp"
#include "program.hpp"
#include "typemap.hpp"

namespace quirks_contract {

sigjmp_buf on_fault;
void fault(int) { siglongjmp(on_fault, 1); }

struct Tally {
  int of = 0, pack = 0, unpack = 0, send = 0, receive = 0, crash = 0, torn = 0;
  std::string example;
};

std::map<std::string, Tally> tallies;
bool verbose = false;

struct Outcome {
  bool pack = false, unpack = false, send = false, receive = false, crash = false, torn = false;
  bool any() const { return pack || unpack || send || receive || crash || torn; }
};

// Memory for `count` elements of a type, with bytes that tell where they came from.
struct Memory {
  Bounds bounds;
  Bytes bytes;
  explicit Memory(const Typemap& map) : bounds(bounds_of(map)), bytes(bounds.end - bounds.begin + 64) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = (unsigned char)(i * 167 + 13 + i / 256);
  }
  unsigned char* origin() { return bytes.data() + 32 - bounds.begin; }
};

Outcome judge(MPI_Datatype t, int count) {
  const Typemap map = typemap(t, count);
  const int size = int(size_of(map));
  Memory from(map);
  Bytes want = oracle_pack(map, from.origin());
  want.reserve(1);  // a buffer has an address, even an empty one
  Outcome out;
  if (sigsetjmp(on_fault, 1)) {
    out.crash = true;
    return out;
  }
  Bytes got(size + 1);
  int position = 0;
  PMPI_Pack(from.origin(), count, t, got.data(), size, &position, MPI_COMM_SELF);
  got.resize(size);
  out.pack = got != want || position != size;
  Bytes seen(size + 1);
  position = 0;
  MPI_Pack(from.origin(), count, t, seen.data(), size, &position, MPI_COMM_SELF);
  seen.resize(size);
  out.torn = (seen == want) != (got == want);

  std::fill(got.begin(), got.end(), 0);
  PMPI_Sendrecv(from.origin(), count, t, 0, 1, got.data(), size, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  out.send = got != want;

  if (overlaps(map)) return out;
  Memory expected(map), into(map);
  for (auto* m : {&expected, &into}) std::fill(m->bytes.begin(), m->bytes.end(), 0xA5);
  oracle_unpack(map, want, expected.origin());
  position = 0;
  PMPI_Unpack(want.data(), size, &position, into.origin(), count, t, MPI_COMM_SELF);
  out.unpack = into.bytes != expected.bytes;

  std::fill(into.bytes.begin(), into.bytes.end(), 0xA5);
  PMPI_Sendrecv(want.data(), size, MPI_BYTE, 0, 1, into.origin(), count, t, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  out.receive = into.bytes != expected.bytes;
  return out;
}

// Commits, judges and frees the type.
void consider(const std::string& family, MPI_Datatype t) {
  MPI_Type_commit(&t);  // seen by whoever packs
  for (int count = 1; count <= 3; ++count) {
    Tally& tally = tallies[family];
    const Outcome o = judge(t, count);
    ++tally.of;
    tally.pack += o.pack;
    tally.unpack += o.unpack;
    tally.send += o.send;
    tally.receive += o.receive;
    tally.crash += o.crash;
    tally.torn += o.torn;
    if (!o.any() && !verbose) continue;
    const std::string text = std::to_string(count) + " x " + describe(t);
    if (o.any() && tally.example.empty()) tally.example = text;
    if (verbose)
      std::printf("{\"family\": \"%s\", \"type\": \"%s\", \"count\": %d, \"wrong\": \"%s%s%s%s%s%s\"}\n",
                  family.c_str(), describe(t).c_str(), count, o.pack ? "pack " : "", o.unpack ? "unpack " : "",
                  o.send ? "send " : "", o.receive ? "receive " : "", o.crash ? "crash " : "", o.torn ? "torn " : "");
  }
  MPI_Type_free(&t);
}

using Make = std::function<MPI_Datatype()>;
using namespace make;

// A type made from another that is then let go, as programs do.
void derived(const std::string& family, MPI_Datatype inner, const std::function<MPI_Datatype(MPI_Datatype)>& outer) {
  const MPI_Datatype t = outer(inner);
  PMPI_Type_free(&inner);
  consider(family, t);
}

const MPI_Datatype bases[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};

void vectors() {
  for (MPI_Datatype base : bases)
    for (int n = 1; n <= 4; ++n)
      for (int block = 1; block <= 3; ++block)
        for (int stride = -5; stride <= 5; ++stride) {
          const char* kind = stride <= -block  ? "negative"
                             : stride < 0      ? "negative overlapping"
                             : stride == 0     ? "zero"
                             : stride < block  ? "overlapping"
                             : stride == block ? "dense"
                                               : "positive";
          consider(std::string("vector, stride ") + kind, vector(n, block, stride, base));
          const MPI_Aint bytes = stride * type_size(base) + (stride < 0 ? -1 : 1);
          consider(std::string("hvector off alignment, stride ") + kind, hvector(n, block, bytes, base));
          consider("hvector, stride of a few bytes", hvector(n, block, stride, base));
        }
}

void nested_vectors() {
  for (MPI_Datatype base : {MPI_BYTE, MPI_DOUBLE})
    for (int inner : {-3, -2, -1, 1, 2, 3})
      for (int outer : {-40, -3, 3, 40})
        for (int n = 1; n <= 3; ++n)
          for (int block = 1; block <= 2; ++block) {
            const std::string kind = std::string("vector of vector, inner ") + (inner < 0 ? "negative" : "positive") +
                                     ", outer " + (outer < 0 ? "negative" : "positive");
            derived(kind, vector(n, 1, inner, base),
                    [&](MPI_Datatype t) { return hvector(n, block, outer * type_size(base), t); });
            derived("contiguous of " + std::string(inner < 0 ? "negative" : "positive") + " vector",
                    vector(n, 1, inner, base), [&](MPI_Datatype t) { return contiguous(block + 1, t); });
          }
}

void lists() {
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {2, 1, 0},   {0, 2, 1},   {1, 0, 2}, {1, 2, 0},
                                                {2, 0, 1}, {0, -1, -2}, {-2, -1, 0}, {5, 3, 0}, {0, 4, 2}};
  const std::vector<std::vector<int>> sizes = {{1, 1, 1}, {2, 2, 2}, {1, 2, 3}, {3, 2, 1},
                                               {0, 1, 2}, {2, 0, 1}, {1, 2, 0}};
  for (MPI_Datatype base : bases)
    for (const auto& order : orders)
      for (int step : {1, 3, 4})
        for (const auto& block : sizes) {
          std::vector<int> disps;
          std::vector<MPI_Aint> bytes;
          for (int o : order) disps.push_back(o * step);
          for (int d : disps) bytes.push_back(d * type_size(base) + d);
          bool rising = true, holes = false;
          for (int i = 0; i < 2; ++i) rising &= disps[i] < disps[i + 1];
          for (int b : block) holes |= b == 0;
          const std::string kind =
              std::string(rising ? "rising" : "not rising") + (holes ? ", zero-length blocks" : "");
          consider("indexed, " + kind, indexed(block, disps, base));
          consider("hindexed off alignment, " + kind, hindexed(block, bytes, base));
          if (block == sizes[0] || block == sizes[1]) {
            MPI_Datatype t;
            PMPI_Type_create_indexed_block(3, block[0], disps.data(), base, &t);
            consider("indexed_block, " + kind, t);
            PMPI_Type_create_hindexed_block(3, block[0], bytes.data(), base, &t);
            consider("hindexed_block off alignment, " + kind, t);
          }
          std::vector<MPI_Aint> wide;
          for (int o : order) wide.push_back(o * 8 * step);
          consider("struct of int, double, short, " + kind, structure(block, wide, {MPI_INT, MPI_DOUBLE, MPI_SHORT}));
          consider("struct of one type, " + kind, structure(block, wide, {base, base, base}));
        }
}

void resizes() {
  const std::vector<Make> inners = {[] { return contiguous(1, MPI_INT); },
                                    [] { return contiguous(3, MPI_BYTE); },
                                    [] { return vector(3, 1, 2, MPI_BYTE); },
                                    [] { return vector(2, 1, -2, MPI_INT); },
                                    [] {
                                      return structure({1, 1}, {0, 8}, {MPI_INT, MPI_DOUBLE});
                                    },
                                    [] {
                                      return indexed({1, 2}, {3, 0}, MPI_BYTE);
                                    },
                                    [] { return contiguous(2, MPI_SHORT_INT); }};
  for (const auto& inner : inners)
    for (MPI_Aint lb : {-8, -1, 0, 1, 8})
      for (MPI_Aint extent : {-40, -16, -1, 0, 1, 2, 4, 16, 40}) {
        const std::string kind = std::string(extent < 0    ? "negative extent"
                                             : extent == 0 ? "zero extent"
                                             : extent < 16 ? "small extent"
                                                           : "large extent") +
                                 (lb < 0   ? ", negative lb"
                                  : lb > 0 ? ", positive lb"
                                           : "");
        derived("resized, " + kind, inner(), [&](MPI_Datatype t) { return resized(lb, extent, t); });
        for (int n = 2; n <= 3; ++n) {
          auto with = [&](const char* name, const std::function<MPI_Datatype(MPI_Datatype)>& outer) {
            MPI_Datatype first = inner();
            MPI_Datatype sized = resized(lb, extent, first);
            PMPI_Type_free(&first);
            derived(std::string(name) + " of resized, " + kind, sized, outer);
          };
          with("contiguous", [&](MPI_Datatype t) { return contiguous(n, t); });
          with("vector", [&](MPI_Datatype t) { return vector(2, n, 2 * n, t); });
          with("hvector", [&](MPI_Datatype t) { return hvector(2, n, 200, t); });
          with("indexed", [&](MPI_Datatype t) { return indexed({n, 1}, {0, 2 * n}, t); });
          with("struct", [&](MPI_Datatype t) { return structure({n, 1}, {0, 200}, {t, MPI_INT}); });
        }
      }
}

void arrays() {
  for (MPI_Datatype base : bases)
    for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
      for (int sx = 1; sx <= 3; ++sx)
        for (int sy = 1; sy <= 3; ++sy)
          for (int x = 0; x + sx <= 3; ++x)
            for (int y = 0; y + sy <= 3; ++y) {
              consider("subarray 2-D", subarray({3, 3}, {sx, sy}, {x, y}, order, base));
              consider("subarray 3-D", subarray({3, 4, 3}, {sx, 2, sy}, {x, 1, y}, order, base));
            }
  for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
    for (int d0 : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE})
      for (int d1 : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE})
        for (int arg : {int(MPI_DISTRIBUTE_DFLT_DARG), 2, 3})
          for (int rank = 0; rank < 4; ++rank) {
            const int procs[] = {d0 == MPI_DISTRIBUTE_NONE ? 1 : 2, d1 == MPI_DISTRIBUTE_NONE ? 1 : 2};
            if (rank >= procs[0] * procs[1]) continue;
            const int sizes[] = {6, 5}, distribs[] = {d0, d1};
            const int none = MPI_DISTRIBUTE_DFLT_DARG;
            int args[] = {d0 == MPI_DISTRIBUTE_NONE ? none : arg, d1 == MPI_DISTRIBUTE_NONE ? none : arg};
            // A block distribution must cover the array.
            if (d0 == MPI_DISTRIBUTE_BLOCK && arg == 2) args[0] = none;
            if (d1 == MPI_DISTRIBUTE_BLOCK && arg == 2) args[1] = none;
            MPI_Datatype t;
            PMPI_Type_create_darray(procs[0] * procs[1], rank, 2, sizes, distribs, args, procs, order, MPI_INT, &t);
            const bool cyclic = d0 == MPI_DISTRIBUTE_CYCLIC || d1 == MPI_DISTRIBUTE_CYCLIC;
            consider(
                std::string("darray, ") + (cyclic ? "cyclic" : "block") + (order == MPI_ORDER_C ? ", C" : ", Fortran"),
                t);
          }
}

void pairs_and_transposes() {
  for (MPI_Datatype pair :
       {MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_FLOAT_INT, MPI_LONG_INT, MPI_2INT, MPI_LONG_DOUBLE_INT}) {
    for (int n = 1; n <= 4; ++n) {
      consider("contiguous of a pair type", contiguous(n, pair));
      for (int stride : {-3, -1, 1, 2, 3}) {
        consider(stride < 0 ? "vector of a pair type, negative" : "vector of a pair type", vector(n, 1, stride, pair));
      }
    }
    consider("indexed of a pair type", indexed({1, 2}, {3, 0}, pair));
    consider("struct with a pair type", structure({1, 2}, {0, 16}, {MPI_BYTE, pair}));
  }
  for (MPI_Datatype base : bases)
    for (int rows = 1; rows <= 4; ++rows)
      for (int cols = 1; cols <= 4; ++cols) {
        MPI_Datatype column = vector(rows, 1, cols, base);
        MPI_Datatype narrow = resized(0, type_size(base), column);
        PMPI_Type_free(&column);
        derived("transpose", narrow, [&](MPI_Datatype t) { return contiguous(cols, t); });
        derived("transpose by hvector", vector(rows, 1, cols, base),
                [&](MPI_Datatype t) { return hvector(cols, 1, type_size(base), t); });
      }
}

// Complex numbers, which some MPI takes for pairs, at distances of whole and of half ones.
void large_elements() {
  for (int stride = 16; stride <= 56; stride += 4) {
    const std::string kind = stride % 16 == 0  ? "at whole distances"
                             : stride % 8 == 0 ? "at half distances"
                                               : "off alignment";
    consider("double complex " + kind, hvector(3, 1, stride, MPI_C_DOUBLE_COMPLEX));
    consider("double complex " + kind, hindexed({1, 2, 1}, {0, stride, 4 * stride}, MPI_C_DOUBLE_COMPLEX));
    derived("double complex " + kind, resized(0, stride, MPI_C_DOUBLE_COMPLEX),
            [](MPI_Datatype t) { return contiguous(3, t); });
  }
}

// Some MPIs copy the ten bytes of an extended double and not the padding behind them.
void long_doubles() {
  for (int n = 1; n <= 3; ++n) {
    consider("long double (padding)", contiguous(n, MPI_LONG_DOUBLE));
    consider("long double (padding)", vector(n, 1, 2, MPI_LONG_DOUBLE));
  }
}

// Members without any bytes.
void empties() {
  for (MPI_Datatype base : bases) {
    const Make nothing[] = {[&] { return contiguous(0, base); }, [&] { return vector(0, 1, 2, base); },
                            [&] {
                              return indexed({0, 0}, {1, 2}, base);
                            }};
    for (const auto& empty : nothing) {
      consider("zero-size type", empty());
      derived("contiguous of zero-size", empty(), [](MPI_Datatype t) { return contiguous(3, t); });
      derived("vector of zero-size", empty(), [](MPI_Datatype t) { return vector(3, 2, 4, t); });
      derived("hvector of zero-size", empty(), [](MPI_Datatype t) { return hvector(3, 2, 4, t); });
      derived("indexed of zero-size", empty(), [](MPI_Datatype t) { return indexed({1, 2}, {0, 3}, t); });
      derived("resized of zero-size", empty(), [](MPI_Datatype t) { return resized(0, 8, t); });
      derived("struct with a zero-size member", empty(), [&](MPI_Datatype t) {
        return structure({1, 2, 1}, {0, 16, 48}, {base, t, base});
      });
      derived("struct of one piece and a zero-size member", empty(), [&](MPI_Datatype t) {
        return structure({1, 2}, {0, 48}, {base, t});
      });
    }
  }
}

CONTRACT_PROGRAM(quirks) {
  MPI_Init(&argc, &argv);
  verbose = argc > 1 && std::string(argv[1]) == "-v";
  std::signal(SIGFPE, fault);
  std::signal(SIGSEGV, fault);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    vectors();
    nested_vectors();
    lists();
    resizes();
    arrays();
    pairs_and_transposes();
    large_elements();
    long_doubles();
    empties();
    for (const auto& [family, t] : tallies)
      std::printf(
          "{\"family\": \"%s\", \"example\": \"%s\", \"wrong\": %d, \"of\": %d, \"unpack\": %d, "
          "\"send\": %d, \"receive\": %d, \"crash\": %d, \"torn\": %d}\n",
          family.c_str(), t.example.c_str(), t.pack, t.of, t.unpack, t.send, t.receive, t.crash, t.torn);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace quirks_contract
