// The representative datatypes, and typed memory to use them on.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "contract.hpp"
#include "describe.hpp"
#include "make.hpp"
#include "typemap.hpp"

struct Sample {
  const char* name;
  // A type of about n * 8 bytes of payload, uncommitted.
  MPI_Datatype (*make)(int n);
  // Used through MPI_BOTTOM with absolute addresses.
  bool absolute = false;
  // Made of elements of different sizes. MPICH 4.0 fails to receive a long run of plain bytes into
  // such a type, and is not itself afterwards: contract_mixed looks into that, the others stay
  // clear of it.
  bool mixed = false;
};

// Whether plain bytes may be sent into n of these.
inline bool takes_bytes(const Sample& s, int n) { return !s.mixed || n <= 100; }

inline int root_of(int n, int power) {
  int m = 1;
  while ((power == 2 ? (m + 1) * (m + 1) : (m + 1) * (m + 1) * (m + 1)) <= n) ++m;
  return m;
}

inline MPI_Datatype irregular(int n, bool holes) {
  Ints blocks, disps;
  for (int i = 0, at = 0; i < n / 2 + 1; ++i) {
    const int length = i % 3 + (holes ? 0 : 1);
    blocks.push_back(length);
    disps.push_back(at);
    at += length + 1 + i * 7 % 5;
  }
  if (holes) blocks.front() = 1;  // never empty altogether
  return make::indexed(blocks, disps, MPI_DOUBLE);
}

// A type of the given payload made of structs, vectors and resizes, four levels deep.
inline MPI_Datatype deep(int n) {
  using namespace make;
  const MPI_Datatype record = structure({1, 2, 3}, {0, 8, 32}, {MPI_INT, MPI_DOUBLE, MPI_SHORT});  // 26 bytes
  const MPI_Datatype padded = owned(record, [](MPI_Datatype t) { return resized(-8, 56, t); });
  const MPI_Datatype pairs = owned(padded, [](MPI_Datatype t) { return vector(2, 1, 3, t); });
  return owned(pairs, [n](MPI_Datatype t) { return hvector(n / 7 + 1, 1, 56 * 5, t); });
}

inline const std::vector<Sample>& all_samples() {
  using namespace make;
  static const std::vector<Sample> all = {
      {"contiguous", [](int n) { return contiguous(n, MPI_DOUBLE); }},
      {"vector", [](int n) { return vector(n, 1, 2, MPI_DOUBLE); }},
      {"vector of blocks", [](int n) { return vector(n / 5 + 1, 5, 16, MPI_DOUBLE); }},
      {"bytes", [](int n) { return vector(n, 3, 7, MPI_BYTE); }},
      {"negative hvector", [](int n) { return hvector(n, 1, -24, MPI_DOUBLE); }},
      {"minus one vector", [](int n) { return vector(n, 1, -1, MPI_BYTE); }},
      {"x face",
       [](int n) {
         const int m = root_of(n, 2);
         return subarray({m, m, 4}, {m, m, 1}, {0, 0, 2}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"y face",
       [](int n) {
         const int m = root_of(n, 2);
         return subarray({m, 4, m}, {m, 1, m}, {0, 2, 0}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"Fortran face",
       [](int n) {
         const int m = root_of(n / 2 + 1, 2);
         return subarray({5, m, m}, {2, m, m}, {1, 0, 0}, MPI_ORDER_FORTRAN, MPI_DOUBLE);
       }},
      {"edge",
       [](int n) {
         return subarray({4, n, 4}, {1, n, 1}, {3, 0, 1}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"box",
       [](int n) {
         const int m = root_of(n, 3);
         return subarray({m + 2, m + 3, m + 1}, {m, m, m}, {1, 2, 1}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"full row",
       [](int n) {
         return subarray({4, n}, {1, n}, {1, 0}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"indexed", [](int n) { return irregular(n, false); }},
      {"indexed with holes", [](int n) { return irregular(n, true); }},
      {"indexed_block",
       [](int n) {
         Ints disps;
         for (int i = 0; i < n; ++i) disps.push_back(i * 3 + i % 2);
         return indexed_block(1, disps, MPI_DOUBLE);
       }},
      {"falling hindexed",
       [](int n) {
         Ints blocks;
         Aints disps;
         for (int i = 0; i < n; ++i) {
           blocks.push_back(1);
           disps.push_back(20 * (n - i) + i % 3);
         }
         return hindexed(blocks, disps, MPI_DOUBLE);
       }},
      {"struct",
       [](int n) {
         return owned(structure({1, 1, 2}, {0, 8, 20}, {MPI_CHAR, MPI_DOUBLE, MPI_INT}),
                      [n](MPI_Datatype t) { return contiguous(n / 2 + 1, t); });
       },
       false, true},
      {"resized",
       [](int n) { return owned(resized(-8, 32, MPI_DOUBLE), [n](MPI_Datatype t) { return contiguous(n, t); }); }},
      {"transpose",
       [](int n) {
         const int m = root_of(n, 2);
         const MPI_Datatype column = vector(m, 1, m, MPI_DOUBLE);
         return owned(owned(column, [](MPI_Datatype t) { return resized(0, 8, t); }),
                      [m](MPI_Datatype t) { return contiguous(m, t); });
       }},
      {"double_int", [](int n) { return contiguous(n, MPI_DOUBLE_INT); }, false, true},
      {"deep", deep, false, true},
      {"darray",
       [](int n) {
         const int m = root_of(n * 4, 2);
         return darray(4, 1, {m, m}, {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, {2, MPI_DISTRIBUTE_DFLT_DARG},
                       {2, 2}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"dup", [](int n) { return owned(vector(n, 1, 3, MPI_INT), [](MPI_Datatype t) { return duplicate(t); }); }},
      {"absolute", [](int n) { return vector(n, 1, 2, MPI_DOUBLE); }, true},
  };
  return all;
}

// Those that this run uses: `CONTRACT_SHARE=1/3` leaves every third, from the second on.
inline const std::vector<Sample>& samples() {
  static const std::vector<Sample> some = [] {
    std::vector<Sample> all = all_samples();
    int which = 0, shares = 1, at = 0;
    if (const char* share = std::getenv("CONTRACT_SHARE")) std::sscanf(share, "%d/%d", &which, &shares);
    std::erase_if(all, [&](const Sample&) { return at++ % shares != which; });
    return all;
  }();
  return some;
}

inline Sample every_other_double() {
  return {"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
}

// Types of exactly n doubles: any of them may send what any other receives.
inline const std::vector<Sample>& same_signature() {
  using namespace make;
  static const std::vector<Sample> all = {
      {"contiguous", [](int n) { return contiguous(n, MPI_DOUBLE); }},
      {"vector", [](int n) { return vector(n, 1, 3, MPI_DOUBLE); }},
      {"negative hvector", [](int n) { return hvector(n, 1, -24, MPI_DOUBLE); }},
      {"column",
       [](int n) {
         return subarray({n, 3}, {n, 1}, {0, 2}, MPI_ORDER_C, MPI_DOUBLE);
       }},
      {"hindexed",
       [](int n) {
         Ints blocks;
         Aints disps;
         for (int i = 0; i < n; ++i) {
           blocks.push_back(1);
           disps.push_back(12 * i + (i % 2 ? 12 * n : 0));
         }
         return hindexed(blocks, disps, MPI_DOUBLE);
       }},
      {"absolute", [](int n) { return vector(n, 1, 2, MPI_DOUBLE); }, true},
  };
  return all;
}

// A few bytes, and sizes on both sides of the eager limits (in units of 8 bytes). contract_large
// has those from 1 MiB on.
inline const Ints& sizes() {
  static const Ints all = {2, 100, 1100, 9000, 40000};
  return all;
}

inline void scramble(unsigned char* at, std::size_t n, unsigned seed) {
  unsigned long long x = seed * 0x9E3779B97F4A7C15ull + 1;
  for (std::size_t i = 0; i < n; i += 8) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    const unsigned long long word = x ^ x >> 29;
    std::memcpy(at + i, &word, std::min<std::size_t>(8, n - i));
  }
}

// What it takes long to find out about `count` elements of a type.
struct Known {
  std::shared_ptr<const Typemap> map, runs;
  std::optional<bool> quirky;  // whether this MPI differs from the typemap
};

// For a sample found out once.
inline Known& known(const Sample& sample, int n, int count) {
  static std::map<std::tuple<decltype(Sample::make), int, int>, Known> all;
  return all[{sample.make, n, count}];
}

// Memory for `count` elements of a committed type, with a margin on both sides, so that every byte
// that must not be touched can be seen to be untouched.
class Region {
 public:
  static constexpr unsigned char kPoison = 0xA5;

  Region(const Sample& sample, int n, int count_ = 1)
      : Region(sample.make(n), count_, sample.name, sample.absolute, known(sample, n, count_)) {}

  // Takes over a type, committed or not.
  Region(MPI_Datatype type_, int count_, const std::string& name_, bool absolute = false, Known&& k = {})
      : Region(type_, count_, name_, absolute, k) {}
  Region(MPI_Datatype type_, int count_, const std::string& name_, bool absolute, Known& k)
      : type(type_),
        count(count_),
        name(name_),
        shared_map_(k.map ? k.map : k.map = std::make_shared<Typemap>(typemap(type_, count_))),
        map_(*shared_map_),
        shared_runs_(k.runs ? k.runs : k.runs = std::make_shared<Typemap>(runs_of(map_))),
        bounds_(bounds_of(map_)),
        size_(size_of(map_)),
        margin_(margin()),
        memory_(bounds_.end - bounds_.begin + 2 * margin_) {
    origin_ = memory_.data() + margin_ - bounds_.begin;
    address = origin_;
    MPI_Type_commit(&type);
    if (!k.quirky) k.quirky = differs_from_plain();
    quirky_ = *k.quirky;
    if (quirky_) contract().quirk(name);
    if (absolute) place();
    poison();
  }
  ~Region() {
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  MPI_Datatype type;
  int count;
  void* address;
  std::string name;

  int size() const { return int(size_); }
  bool quirky() const { return quirky_; }
  const Typemap& map() const { return map_; }
  unsigned char* origin() { return origin_; }
  Bytes& bytes() { return memory_; }

  void fill(unsigned seed) { scramble(memory_.data(), memory_.size(), seed); }
  void poison() { std::fill(memory_.begin(), memory_.end(), kPoison); }

  // The bytes that a send of this region must deliver.
  Bytes packed() const { return quirky_ ? plain_packed() : oracle_pack(*shared_runs_, origin_); }

  // The region must hold the stream (all of it or, for a short message, its beginning) and
  // elsewhere nothing but poison.
  void expect(const Bytes& stream, const std::string& what) {
    const Bytes got = memory_;
    poison();
    if (!quirky_)
      oracle_unpack(*shared_runs_, stream, origin_);
    else if (stream.size() == std::size_t(size_))
      plain_unpack(stream);
    else
      return;  // what a short message means for a type in the wrong order is anyone's guess
    if (got == memory_) {
      check(true, what);
    } else {
      const auto i = std::mismatch(got.begin(), got.end(), memory_.begin()).first - got.begin();
      check(false, what,
            "offset " + std::to_string(memory_.data() + i - origin_) + " expected " + std::to_string(memory_[i]) +
                " got " + std::to_string(got[i]));
    }
    memory_ = got;
  }
  void expect_untouched(const std::string& what) {
    check(std::all_of(memory_.begin(), memory_.end(), [](auto b) { return b == kPoison; }), what);
  }

  // Whatever happened to the data: outside of the typemap there is nothing but poison.
  void expect_gaps(const std::string& what) {
    Bytes gaps = memory_;
    for (const Piece& p : map_) std::memset(gaps.data() + (origin_ - memory_.data()) + p.disp, kPoison, p.size);
    check(std::all_of(gaps.begin(), gaps.end(), [](auto b) { return b == kPoison; }), what);
  }

 private:
  // An MPI that takes falling blocks for rising ones writes on the other side of the origin, and
  // Open MPI takes some that overlap for contiguous.
  MPI_Aint margin() const {
    const bool rising =
        std::is_sorted(map_.begin(), map_.end(), [](const Piece& a, const Piece& b) { return a.disp < b.disp; });
    return 64 + (rising ? 0 : std::max(bounds_.end - bounds_.begin, size_));
  }

  // The same `count` elements, as one element placed at an absolute address.
  void place() {
    MPI_Aint at;
    PMPI_Get_address(origin_, &at);
    const MPI_Datatype placed = make::hindexed({count}, {at}, type);
    MPI_Type_free(&type);
    type = placed;
    count = 1;
    address = MPI_BOTTOM;
    MPI_Type_commit(&type);
  }

  Bytes plain_packed() const {
    Bytes out(size_ + 1);
    int position = 0;
    PMPI_Pack(address, count, type, out.data(), int(size_), &position, MPI_COMM_SELF);
    out.resize(size_);
    return out;
  }
  void plain_unpack(const Bytes& stream) {
    int position = 0;
    PMPI_Unpack(stream.data(), int(size_), &position, address, count, type, MPI_COMM_SELF);
  }
  bool differs_from_plain() {
    if (size_ == 0) return false;
    fill(1);
    const Bytes stream = oracle_pack(*shared_runs_, origin_);
    if (plain_packed() != stream) return true;
    poison();
    plain_unpack(stream);
    const Bytes got = memory_;
    poison();
    oracle_unpack(*shared_runs_, stream, origin_);
    return got != memory_;
  }

  std::shared_ptr<const Typemap> shared_map_;
  const Typemap& map_;
  std::shared_ptr<const Typemap> shared_runs_;
  Bounds bounds_;
  MPI_Aint size_, margin_;
  Bytes memory_;
  unsigned char* origin_ = nullptr;
  bool quirky_ = false;
};

// A different fill for every message, the same on both sides.
inline unsigned seed_of(int sender, int round) { return unsigned(sender * 7919 + round * 31 + 5); }
