// Random datatype trees against the brute-force typemap and against the MPI's own result.
//
//   contract_random [SECONDS [SEED [ONLY]]] [-e] [-p]
//
// prints its seed; ONLY replays one round of it; -e allows types without bytes, -p resizes to
// positive extents only. With two ranks the types travel between them as well. Where the MPI itself
// differs from the typemap (a quirk), what is called must pack and unpack exactly as the MPI does;
// messages may also arrive right where those between two ranks of the MPI arrive wrong.
#include <chrono>
#include <list>

#include "contract.hpp"
#include "describe.hpp"
#include "random_type.hpp"

namespace random_contract {

struct Case {
  MPI_Datatype type;
  int count;
  std::string about;  // how to get here again
  Typemap map;
  Bounds bounds;
  int size;
  bool receivable;
};

// A window into a large arena: an MPI that misunderstands a type reads and writes outside of it,
// and must then still do the same twice.
struct Memory {
  static constexpr MPI_Aint kAround = 2 << 20, kMargin = 64;
  struct Arena {
    Bytes bytes = Bytes(4 * kAround);
    bool used = false;
  };
  static Arena& free_arena() {
    static std::list<Arena> arenas;
    auto a = std::find_if(arenas.begin(), arenas.end(), [](const Arena& x) { return !x.used; });
    if (a == arenas.end()) a = arenas.emplace(a);
    a->used = true;
    return *a;
  }

  Arena& arena = free_arena();
  unsigned char* begin = arena.bytes.data() + kAround;
  MPI_Aint length;
  unsigned char* origin;

  Memory(const Case& c, unsigned seed)
      : length(c.bounds.end - c.bounds.begin + 2 * kMargin), origin(begin + kMargin - c.bounds.begin) {
    std::fill(begin, begin + length, 0xA5);
    if (seed == 0) return;
    std::mt19937 rng(seed);
    for (MPI_Aint i = 0; i < length; ++i) begin[i] = (unsigned char)rng();
  }
  ~Memory() { arena.used = false; }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Bytes bytes() const { return Bytes(begin, begin + length); }
};

long quirks = 0;

void expect(const Bytes& got, const Bytes& oracle, const Bytes& plain, const char* what, const Case& c) {
  if (plain != oracle) {
    ++quirks;
    std::printf("quirk: %s %s\n", what, c.about.c_str());
  }
  if (got == plain) return check(true, what);
  std::size_t i = 0;
  while (got[i] == plain[i]) ++i;
  check(false, what,
        "byte " + std::to_string(i) + " expected " + std::to_string(plain[i]) + " got " + std::to_string(got[i]) +
            (plain == oracle ? "" : " (a quirk of the MPI)") + " " + c.about);
}

Bytes pack(const Case& c, int (*call)(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm), const Memory& from,
           const char* what) {
  Bytes out(c.size + 8, 0xA5);
  int position = 0;
  check_ok(call(from.origin, c.count, c.type, out.data(), c.size, &position, MPI_COMM_SELF), what);
  check_equal(position, c.size, what);
  return out;
}

Bytes unpack(const Case& c, int (*call)(const void*, int, int*, void*, int, MPI_Datatype, MPI_Comm),
             const Bytes& stream, const char* what) {
  Memory into(c, 0);
  int position = 0;
  check_ok(call(stream.data(), c.size, &position, into.origin, c.count, c.type, MPI_COMM_SELF), what);
  check_equal(position, c.size, what);
  return into.bytes();
}

using Exchange = int (*)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,
                         MPI_Status*);

Bytes exchange(const Case& c, Exchange call, const Memory& from, const char* what) {
  Memory into(c, 0);
  const int peer = contract().ranks - 1 - contract().rank;
  check_ok(call(from.origin, c.count, c.type, peer, 1, into.origin, c.count, c.type, peer, 1, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE),
           what);
  return into.bytes();
}

void judge(const Case& c) {
  const Memory from(c, 1 + contract().rank);
  const Memory theirs(c, 1 + (contract().ranks - 1 - contract().rank));
  Bytes stream = oracle_pack(c.map, from.origin);
  stream.resize(c.size + 8, 0xA5);
  expect(pack(c, MPI_Pack, from, "random pack"), stream, pack(c, PMPI_Pack, from, "plain pack"), "random pack", c);
  if (!c.receivable) return;

  Memory into(c, 0);
  stream.resize(c.size);
  stream.reserve(1);
  oracle_unpack(c.map, stream, into.origin);
  expect(unpack(c, MPI_Unpack, stream, "random unpack"), into.bytes(), unpack(c, PMPI_Unpack, stream, "plain unpack"),
         "random unpack", c);
  if (contract().ranks != 2) return;

  Memory arrived(c, 0);
  oracle_unpack(c.map, oracle_pack(c.map, theirs.origin), arrived.origin);
  const Bytes plain = exchange(c, PMPI_Sendrecv, from, "plain exchange");
  const Bytes got = exchange(c, MPI_Sendrecv, from, "random exchange");
  expect(got, arrived.bytes(), got == arrived.bytes() ? got : plain, "random exchange", c);
}

void run_round(unsigned long seed, long round, bool empties, bool positive) {
  RandomType random(seed * 1000003 + round, empties, positive);
  Case c;
  c.about = "seed " + std::to_string(seed) + " round " + std::to_string(round);
  contract().section("random: construction, " + c.about);
  c.type = random.make(random.pick(1, 5));
  c.count = random.pick(1, 3);
  c.about += ": " + std::to_string(c.count) + " x " + describe(c.type);
  c.map = typemap(c.type, c.count);
  c.bounds = bounds_of(c.map);
  c.size = int(size_of(c.map));
  c.receivable = !overlaps(c.map);
  contract().section("random: " + c.about);
  MPI_Type_commit(&c.type);
  judge(c);
  MPI_Type_free(&c.type);
}

CONTRACT_PROGRAM(random) {
  Contract c("random", &argc, &argv);
  bool empties = false, positive = false;
  unsigned long numbers[] = {5, 0, 0};
  int given = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "-e")
      empties = true;
    else if (std::string(argv[i]) == "-p")
      positive = true;
    else if (given < 3)
      numbers[given++] = std::strtoul(argv[i], nullptr, 10);
  }
  const auto start = std::chrono::steady_clock::now();
  unsigned long seed = given > 1 ? numbers[1] : std::random_device{}() % 1000000;
  PMPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  if (c.rank == 0) std::printf("random: seed %lu\n", seed);
  alarm(60 + numbers[0]);
  long rounds = 0;
  if (given > 2) {
    run_round(seed, long(numbers[2]), empties, positive);
  } else {
    for (int more = 1; more; ++rounds) {
      run_round(seed, rounds, empties, positive);
      more = std::chrono::steady_clock::now() - start < std::chrono::seconds(numbers[0]);
      PMPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
  }
  if (c.rank == 0) std::printf("random: %ld rounds, %ld quirks\n", rounds, quirks);
  return c.finish();
}

}  // namespace random_contract
