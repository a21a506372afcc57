// The calls that are tried in all their forms: which of them this mpi.h has, which were made, and
// memory in which the outcome of each is compared with one that no MPI computed.
#pragma once

#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include "elsewhere.hpp"
#include "function_ref.hpp"
#include "samples.hpp"

// --- functions by name ---------------------------------------------------------------------------

inline std::set<std::string>& called() {
  static std::set<std::string> names;
  return names;
}

// A function of the MPI that remembers that it was called, and that mpi.h may not have.
template <class Call>
struct Function {
  const char* name;
  Call call;

  template <class... A>
  static constexpr bool takes = std::is_invocable_v<Call, A...>;

  template <class... A>
  int operator()(A... a) const {
    called().insert(name);
    return call(a...);
  }
};
template <class Call>
Function(const char*, Call) -> Function<Call>;

// The name is looked up when the arguments are known: where mpi.h lacks it, it takes none.
#define FUNCTION(f)                                  \
  Function {                                         \
#f, [](auto... a) requires requires { f(a...); } \
    { return f(a...); }                              \
  }

// What any mpi.h must have, or a mistake in the arguments would silently test nothing.
constexpr bool kMpi4 = MPI_VERSION >= 4;

// Partitioned messages and sessions; Open MPI 5 has them, and calls itself MPI 3.
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define CONTRACT_HAVE_MPI4_OBJECTS
#endif

// One line with the calls that the ranks made, for the driver to compare with a report.
inline void say_called() {
  std::string mine;
  for (const std::string& name : called()) mine += name + ' ';
  constexpr int kLine = 8192;
  mine.resize(kLine);
  std::string all(std::size_t(contract().ranks) * kLine, '\0');
  PMPI_Gather(mine.data(), kLine, MPI_CHAR, all.data(), kLine, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (contract().rank != 0) return;
  std::replace(all.begin(), all.end(), '\0', ' ');
  std::istringstream words(all);
  std::string line;
  for (const std::string& name : std::set<std::string>(std::istream_iterator<std::string>(words), {}))
    line += ' ' + name;
  std::printf("called:%s\n", line.c_str());
}

// Only what the program's arguments name is run, if there are any: for looking at one thing.
inline std::set<std::string>& wanted() {
  static std::set<std::string> names;
  return names;
}
inline bool is_wanted(const char* name) { return wanted().empty() || wanted().count(name); }

// --- what an MPI is known to get wrong, and would spoil what comes after -------------------------

struct Defect {
  const char* mpi;    // how the name of the library begins
  const char* call;   // how the name of the function begins
  const char* where;  // what else must be in the check's name
  const char* why;
};
inline const Defect defects[] = {
    {"MPICH Version: 4.0", "MPI_Gather_init", "",
     "copies the root's own block when it is made, not when it is started"},
    {"MPICH Version: 4.0", "MPI_Scatter_init", "", "copies the root's own block when it is made; hangs"},
    {"MPICH Version: 4.0", "MPI_Allgather_init", "", "copies the own block when it is made; crashes"},
    {"MPICH Version: 4.0", "MPI_Reduce_scatter_block_init", "inter", "is right the first time only"},
    {"MPICH", "MPI_Ibcast", "inter", "takes data from anywhere unless the root is the first of its side"},
    {"MPICH", "MPI_Bcast_init", "inter", "as MPI_Ibcast"},
    {"MPICH", "MPI_Reduce_scatter_block", "intra, spread struct",
     "writes past its memory with a gap at the end of the type"},
    {"MPICH", "MPI_Ireduce_scatter_block", "intra, spread struct", "as MPI_Reduce_scatter_block"},
    {"MPICH Version: 4.0", "MPI_", "to falling blocks", "writes to and reads from wrong places of the window"},
    {"MPICH Version: 4.0", "MPI_Rget,", "", "completes the request before the data is there"},
    {"MPICH Version: 4.0", "MPI_Rget_c,", "", "completes the request before the data is there"},
    {"MPICH Version: 4.0", "MPI_Get", "of long data", "ends the epoch before the last data is there"},
    {"Open MPI v4.1", "MPI_Get_accumulate, sum", "", "fetches the wrong bytes"},
    {"Open MPI v4.1", "MPI_Rget_accumulate, replace", "", "fetches the wrong bytes"},
    {"MPICH Version: 4.0", "MPI_Isendrecv", "strided", "frees datatypes that it did not make"},
    {"MPICH", "MPI_Isendrecv", "strided, replace", "receives only the first element"},
    {"Intel", "MPI_Isendrecv", "strided, replace", "receives only the first element"},
    {"MPICH Version: 4.0", "MPI_Neighbor_alltoall", "ring of 2", "takes one neighbour for the other"},
    {"MPICH Version: 4.0", "MPI_Ineighbor_alltoall", "ring of 2", "takes one neighbour for the other"},
    {"Open MPI", "MPI_Ineighbor_alltoall", "ring of 2", "takes one neighbour for the other"},
    {"Open MPI", "MPI_Neighbor_alltoall_init", "ring of 2", "takes one neighbour for the other"},
    {"Open MPI", "MPI_Neighbor_alltoallv_init", "ring of 2", "takes one neighbour for the other"},
    {"Open MPI", "MPI_Neighbor_alltoallw_init", "ring of 2", "takes one neighbour for the other"},
};

// Whether blocking neighbour collectives are not the MPI's: then its defects do not count.
inline bool our_neighbours() { return std::getenv("CONTRACT_OUR_NEIGHBOURS") != nullptr; }

inline bool avoided(const std::string& label) {
  if (our_neighbours() && (label.rfind("MPI_Neighbor_", 0) == 0 || label.rfind("MPI_Ineighbor_", 0) == 0)) return false;
  static const std::string mpi = [] {
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    PMPI_Get_library_version(name, &length);
    std::string words = name;
    std::replace_if(
        words.begin(), words.end(), [](unsigned char c) { return std::isspace(c); }, ' ');
    words.erase(std::unique(words.begin(), words.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                words.end());
    return words;
  }();
  static std::set<const Defect*> told;
  for (const Defect& d : defects)
    if (mpi.starts_with(d.mpi) && label.starts_with(d.call) && label.find(d.where) != label.npos) {
      if (told.insert(&d).second) contract().skip(std::string(d.call) + " " + d.where + ": this MPI " + d.why);
      return true;
    }
  return false;
}

// --- arguments -----------------------------------------------------------------------------------

// An array of counts, or of displacements, for both widths of a call. Without numbers it is a null
// pointer.
template <class Wide>
struct Numbers {
  Ints small;
  std::vector<Wide> large;
  Numbers() = default;
  Numbers(const Ints& numbers) : small(numbers), large(numbers.begin(), numbers.end()) {}
  int operator[](std::size_t i) const { return small[i]; }
};
using Counts = Numbers<MPI_Count>;
struct Displs : Numbers<MPI_Aint> {
  using Numbers::Numbers;
};

template <bool large, class A>
auto pass(const A& a) {
  if constexpr (std::is_same_v<A, Counts> || std::is_same_v<A, Displs>) {
    if constexpr (large)
      return a.large.empty() ? nullptr : a.large.data();
    else
      return a.small.empty() ? nullptr : a.small.data();
  } else {
    return a;
  }
}

// --- the forms of one collective -----------------------------------------------------------------

template <class Blocking, class Nonblocking, class Persistent>
struct Forms {
  Blocking blocking;
  Nonblocking nonblocking;
  Persistent persistent;
};
template <class... F>
Forms(F...) -> Forms<F...>;

template <class Small, class Large>
struct Family {
  Small small;
  Large large;
};
template <class Small, class Large>
Family(Small, Large) -> Family<Small, Large>;

#define FAMILY(X, IX)                                                                     \
  Family {                                                                                \
    Forms { FUNCTION(MPI_##X), FUNCTION(MPI_##IX), FUNCTION(MPI_##X##_init) }             \
    , Forms { FUNCTION(MPI_##X##_c), FUNCTION(MPI_##IX##_c), FUNCTION(MPI_##X##_init_c) } \
  }

inline bool went(int code, const std::string& what) {
  check_ok(code, what);
  return code == MPI_SUCCESS;
}

// Whether a form is to be tried, and its label.
inline bool begin(const char* name, const std::string& what, std::string& label) {
  label = name + (", " + what);
  contract().section(label);
  return is_wanted(name) && !avoided(label);
}

// What is done before a round, and after it with a label for what is checked.
using Before = FunctionRef<void(int round)>;
using After = FunctionRef<void(int round, const std::string& label)>;

// These are no templates, which would be compiled for each collective.
inline void blocking_form(const char* name, const std::string& what, int round, Before before, After after,
                          FunctionRef<int()> call) {
  std::string label;
  if (!begin(name, what, label)) return;
  before(round);
  if (went(call(), label)) after(round, label);
}

inline void nonblocking_form(const char* name, const std::string& what, int round, Before before, After after,
                             FunctionRef<int(MPI_Request*)> call) {
  std::string label;
  if (!begin(name, what, label)) return;
  before(round);
  MPI_Request request = MPI_REQUEST_NULL;
  const bool ok = went(call(&request), label);
  check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), label + ", Wait");
  if (ok) after(round, label);
}

inline void persistent_form(const char* name, const std::string& what, int round, Before before, After after,
                            FunctionRef<int(MPI_Request*)> init) {
  std::string label;
  if (!begin(name, what, label)) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (!went(init(&request), label)) return;
  for (int start = 0; start < 2; ++start) {
    before(++round);
    if (!went(MPI_Start(&request), label + ", Start")) break;
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), label + ", Wait");
    after(round, label);
  }
  check_ok(MPI_Request_free(&request), label + ", Request_free");
}

template <bool large, class F, class... A>
void forms_of(const F& f, const std::string& what, Before before, After after, A... a) {
  constexpr bool blocking = decltype(f.blocking)::template takes<A...>;
  constexpr bool nonblocking = decltype(f.nonblocking)::template takes<A..., MPI_Request*>;
  constexpr bool persistent = decltype(f.persistent)::template takes<A..., MPI_Info, MPI_Request*>;
  static_assert(kMpi4 || large || (blocking && nonblocking));
  static_assert(!kMpi4 || (blocking && nonblocking && persistent));
  const int round = large ? 10 : 0;
  if constexpr (blocking) blocking_form(f.blocking.name, what, round, before, after, [&] { return f.blocking(a...); });
  if constexpr (nonblocking)
    nonblocking_form(f.nonblocking.name, what, round + 1, before, after,
                     [&](MPI_Request* request) { return f.nonblocking(a..., request); });
  if constexpr (persistent)
    persistent_form(f.persistent.name, what, round + 1, before, after,
                    [&](MPI_Request* request) { return f.persistent(a..., MPI_INFO_NULL, request); });
}

// More ranks than two are there for what two do not have, and not for every width and size: they
// may be more than the processors, and some MPIs wait busily.
inline bool brief() { return contract().ranks > 2; }

// Runs the call in each form that there is, between before(round) and after(round, label). The
// arguments end with the communicator.
template <class F, class... A>
void every_form(const F& family, const std::string& what, Before before, After after, const A&... a) {
  forms_of<false>(family.small, what, before, after, pass<false>(a)...);
  if (!brief()) forms_of<true>(family.large, what, before, after, pass<true>(a)...);
}

// --- types, memory, data -------------------------------------------------------------------------

// A committed type for as long as it is needed.
class Type {
 public:
  explicit Type(MPI_Datatype made) : handle_(made) { MPI_Type_commit(&handle_); }
  Type(Type&& other) noexcept : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)) {}
  ~Type() {
    if (handle_ != MPI_DATATYPE_NULL) MPI_Type_free(&handle_);
  }
  operator MPI_Datatype() const { return handle_; }
  MPI_Aint extent() const { return type_extent(handle_); }

 private:
  MPI_Datatype handle_;
};

// Types that hold n times the same elements, in ways of their own: what one sends any other
// receives.
struct Signature {
  const char* name;
  int bytes;  // of payload, per element
  std::vector<MPI_Datatype (*)(int n)> layouts;

  // With mixed elements only few: see Sample::mixed.
  bool mixed = false;
  Ints sizes() const {
    if (brief()) return {mixed ? 2 : 300};
    return mixed ? Ints{2, 60} : Ints{2, 300, 2500};
  }
  Type type(int which, int n) const { return Type(layouts[which % layouts.size()](n)); }
};

inline const std::vector<Signature>& signatures() {
  using namespace make;
  static const std::vector<Signature> all = [] {
    Signature doubles = {"doubles", 8, {}, false};
    for (const Sample& s : same_signature())
      if (!s.absolute) doubles.layouts.push_back(s.make);
    return std::vector<Signature>{
        doubles,
        {"records",
         17,
         {[](int n) {
            return owned(structure({1, 1, 2}, {0, 8, 20}, {MPI_CHAR, MPI_DOUBLE, MPI_INT}),
                         [n](MPI_Datatype t) { return contiguous(n, t); });
          },
          [](int n) {
            return owned(structure({1, 1, 1, 1}, {32, 16, 0, 8}, {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_INT}),
                         [n](MPI_Datatype t) { return vector(n, 1, 2, t); });
          },
          [](int n) {
            return owned(owned(structure({1, 1, 2}, {0, 8, 16}, {MPI_CHAR, MPI_DOUBLE, MPI_INT}),
                               [](MPI_Datatype t) { return resized(-8, 56, t); }),
                         [n](MPI_Datatype t) { return contiguous(n, t); });
          }},
         true}};
  }();
  return all;
}

// What `from` has for `to` in a round; -1 is everyone.
inline Bytes data(int from, int to, int round, std::size_t bytes) {
  Bytes out(bytes);
  scramble(out.data(), bytes, unsigned(from * 7919 + (to + 1) * 104729 + round * 31 + 5));
  return out;
}

inline Bytes& operator+=(Bytes& all, const Bytes& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Memory for typed blocks, each at its place, with a margin around all.
class Buffer {
 public:
  static constexpr unsigned char kPoison = Region::kPoison;
  struct Block {
    MPI_Datatype type;
    MPI_Aint count;
    MPI_Aint at = 0;  // in bytes from the buffer's address
  };

  /// `host`: in the host's memory, whatever the program is about.
  explicit Buffer(const std::vector<Block>& blocks, bool host = false) {
    for (const Block& b : blocks) {
      maps_.emplace_back();
      append_shifted(maps_.back(), typemap(b.type, b.count), b.at);
      append_shifted(all_, maps_.back(), 0);
    }
    const Bounds bounds = bounds_of(all_);
    memory_.resize(bounds.end - bounds.begin + 2 * kMargin);
    origin_ = memory_.data() + kMargin - bounds.begin;
    there_.made(host);
    poison();
  }
  Buffer(MPI_Datatype type, MPI_Aint count, bool host = false) : Buffer({{type, count, 0}}, host) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// As the MPI is given it.
  unsigned char* origin() { return there_.data() + (origin_ - memory_.data()); }
  void* address() { return origin(); }
  const Typemap& map() const { return all_; }
  std::size_t size() const { return size_of(all_); }

  void poison() {
    clear();
    there_.written();
  }
  // Poison, and in the typemap the stream.
  void put(const Bytes& stream) {
    clear();
    oracle_unpack(all_, stream, origin_);
    there_.written();
  }
  void put_block(int block, const Bytes& stream) {
    there_.look();
    oracle_unpack(maps_[block], stream, origin_);
    there_.written();
  }
  // Each block holds its own stream, or, where that is empty, is untouched.
  template <class Stream>
  void expect_blocks(Stream stream, const std::string& what) {
    there_.look();
    const Bytes got = memory_;
    clear();
    for (int i = 0; i < int(maps_.size()); ++i) oracle_unpack(maps_[i], stream(i), origin_);
    compare(got, what);
  }

  Bytes packed() {
    there_.look();
    return oracle_pack(all_, origin_);
  }

  // The stream in the typemap and poison everywhere else. What the stream is too short for is
  // poison as well.
  void expect(const Bytes& stream, const std::string& what) {
    there_.look();
    const Bytes got = memory_;
    clear();
    oracle_unpack(all_, stream, origin_);
    compare(got, what);
  }
  void expect_untouched(const std::string& what) { expect({}, what); }
  // The same as an answer.
  bool holds(const Bytes& stream) {
    there_.look();
    const Bytes got = memory_;
    clear();
    oracle_unpack(all_, stream, origin_);
    const bool same = got == memory_;
    memory_ = got;
    return same;
  }

 private:
  void clear() { std::fill(memory_.begin(), memory_.end(), kPoison); }
  // What the memory held with what it should hold.
  void compare(const Bytes& got, const std::string& what) {
    const auto [g, e] = std::mismatch(got.begin(), got.end(), memory_.begin());
    if (g == got.end())
      check(true, what);
    else
      check(false, what,
            "offset " + std::to_string(g - got.begin() - (origin_ - memory_.data())) + " expected " +
                std::to_string(*e) + " got " + std::to_string(*g));
    memory_ = got;
  }

  static constexpr std::size_t kMargin = 64;
  std::vector<Typemap> maps_;
  Typemap all_;
  Bytes memory_;
  Elsewhere there_{memory_};
  unsigned char* origin_ = nullptr;  // in memory_
};
