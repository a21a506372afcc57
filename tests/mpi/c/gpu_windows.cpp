// Windows in device memory: random operations between random types, in every kind of epoch, with
// windows and origins in all kinds of memory. All ranks know what all ranks do, so each knows what
// its window must hold.
#include <cstdint>
#include <memory>
#include <random>

#include <dlfcn.h>

#include "cuda_memory.hpp"
#include "random_type.hpp"
#include "sim_calls.hpp"
#include "surface.hpp"

namespace gpu_windows_contract {

int me() { return contract().rank; }
int ranks() { return contract().ranks; }

/// The same numbers on all ranks.
class Chance {
 public:
  explicit Chance(unsigned seed) : rng_(seed) {}
  int below(int n) { return int(rng_() % unsigned(n)); }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[std::size_t(below(int(all.size())))];
  }
  Bytes bytes(std::size_t n) {
    Bytes out(n);
    for (auto& byte : out) byte = static_cast<unsigned char>(rng_());
    return out;
  }

 private:
  std::mt19937 rng_;
};

// --- types ---------------------------------------------------------------------------------------

struct Basic {
  MPI_Datatype type;
  std::vector<MPI_Op> ops;  // what is tried in accumulates
  enum { integer, real, long_real, pair, byte } kind;
};
const std::vector<Basic>& basics() {
  static const std::vector<Basic> all = {
      {MPI_INT64_T, {MPI_SUM, MPI_BXOR, MPI_MAX, MPI_LAND, MPI_REPLACE}, Basic::integer},
      {MPI_INT, {MPI_SUM, MPI_PROD, MPI_MIN, MPI_BOR, MPI_REPLACE}, Basic::integer},
      {MPI_UNSIGNED_SHORT, {MPI_SUM, MPI_BAND}, Basic::integer},
      {MPI_DOUBLE, {MPI_SUM, MPI_MAX, MPI_PROD, MPI_REPLACE}, Basic::real},
      {MPI_LONG_DOUBLE, {MPI_SUM, MPI_MIN}, Basic::long_real},
      {MPI_DOUBLE_INT, {MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE}, Basic::pair},
      {MPI_BYTE, {MPI_BXOR, MPI_REPLACE}, Basic::byte},
  };
  return all;
}

/// `n` elements in one of several layouts, none of which falls or overlaps.
MPI_Datatype layout(int which, int n, MPI_Datatype basic) {
  using namespace make;
  const auto extent = int(type_extent(basic));
  MPI_Datatype t;
  switch (which % 6) {
    case 0: t = contiguous(n, basic); break;
    case 1: t = vector(n, 1, 3, basic); break;
    case 2: t = subarray({n, 3}, {n, 1}, {0, 2}, MPI_ORDER_C, basic); break;
    case 3: t = owned(resized(0, 2 * extent, basic), [n](MPI_Datatype b) { return contiguous(n, b); }); break;
    case 4: {
      Aints at;
      for (int i = 0; i < n; ++i) at.push_back(MPI_Aint(extent) * (2 * i + i % 3 / 2));
      t = hindexed_block(1, at, basic);
      break;
    }
    default: t = structure({n / 2, n - n / 2}, {0, MPI_Aint(extent) * (n / 2 + 3)}, {basic, basic}); break;
  }
  MPI_Type_commit(&t);
  return t;
}

/// A number of that type, packed.
void append_number(Bytes& out, const Basic& basic, int value) {
  const auto put = [&](const auto& v, std::size_t size) {
    const auto* at = reinterpret_cast<const unsigned char*>(&v);
    out.insert(out.end(), at, at + size);
  };
  const auto size = std::size_t(type_size(basic.type));
  switch (basic.kind) {
    case Basic::real: put(double(value), size); break;
    case Basic::long_real: {
      long double wide;
      std::memset(&wide, 0, sizeof wide);
      wide = value;
      Bytes bytes(sizeof wide);
      std::memcpy(bytes.data(), &wide, 10);
      out.insert(out.end(), bytes.begin(), bytes.end());
      break;
    }
    case Basic::pair:
      put(double(value % 3), sizeof(double));
      put(value, sizeof(int));
      break;
    default: put(std::int64_t(value), size);
  }
}

/// target = target op given, in packed streams.
Bytes reduced(const Basic& basic, MPI_Op op, const Bytes& given, const Bytes& target) {
  if (op == MPI_REPLACE) return given;
  const auto size = std::size_t(type_size(basic.type)), extent = std::size_t(type_extent(basic.type));
  const auto n = given.size() / size;
  const auto spread = [&](const Bytes& packed) {
    Bytes out(n * extent);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(out.data() + i * extent, packed.data() + i * size, size);
    return out;
  };
  Bytes in = spread(given), inout = spread(target), out(target.size());
  PMPI_Reduce_local(in.data(), inout.data(), int(n), basic.type, op);
  for (std::size_t i = 0; i < n; ++i) std::memcpy(out.data() + i * size, inout.data() + i * extent, size);
  // Ten bytes of a long double have its value. The MPIs may write anything to the others.
  if (basic.kind == Basic::long_real)
    for (std::size_t i = 0; i < n; ++i) std::memset(out.data() + i * size + 10, 0, 6);
  return out;
}

// --- memory --------------------------------------------------------------------------------------

/// Some memory and what it must hold.
struct Held {
  Held(Kind kind, std::size_t size, const Bytes& content) : memory(kind, size), image(content) { write(); }
  void write() { memory.write(image.data()); }
  /// Returns where the first wrong byte is, or the size.
  std::size_t expect(const std::string& what) const {
    const auto got = memory.read();
    const auto at = std::size_t(std::mismatch(got.begin(), got.end(), image.begin()).first - got.begin());
    check(at == got.size(), what, "at byte " + std::to_string(at) + " of " + std::to_string(got.size()));
    return at;
  }
  CudaMemory memory;
  Bytes image;
};

constexpr int part = 4096;       // bytes of a window that one operation may touch
constexpr int parts_of_one = 4;  // operations of an origin in an epoch
constexpr int guard = 64;

struct Setting {
  std::vector<Kind> windows;
  std::vector<Kind> origins;
  bool ours;  // no operation is the MPI's
};

// --- one operation -------------------------------------------------------------------------------

enum class What { put, get, accumulate, get_accumulate, fetch_no_op, fetch_and_op, compare_and_swap };
const char* name_of(What what) {
  static const char* const names[] = {"Put",   "Get",          "Accumulate",      "Get_accumulate",
                                      "no op", "Fetch_and_op", "Compare_and_swap"};
  return names[int(what)];
}

struct Operation {
  What what;
  int origin, target;
  std::size_t at;  // in the target's window
  Basic basic;
  MPI_Op op;
  int n, origin_layout, result_layout, target_layout, values;
  Kind kind, result_kind;
  bool request, large;
  std::string name() const {
    char type[MPI_MAX_OBJECT_NAME];
    int length;
    PMPI_Type_get_name(basic.type, type, &length);
    return std::string(request ? "R " : "") + (large ? "c " : "") + name_of(what) + " of " + std::to_string(n) + " " +
           type + " from layout " + std::to_string(origin_layout) + " in " + ::name_of(kind) + " to layout " +
           std::to_string(target_layout) + ", rank " + std::to_string(origin) + " to " + std::to_string(target);
  }
};

Operation choose(Chance& chance, const Setting& setting, int origin, int target, int number, bool passive) {
  Operation o;
  o.what = What(chance.below(7));
  o.origin = origin;
  o.target = target;
  o.at = std::size_t(origin * parts_of_one + number) * part + 16u * unsigned(chance.below(4));
  do o.basic = chance.of(basics());
  while (o.what == What::compare_and_swap && o.basic.kind != Basic::integer && o.basic.kind != Basic::byte);
  o.op = chance.of(o.basic.ops);
  o.n = o.what >= What::fetch_and_op ? 1 : 1 + chance.below(60);
  o.origin_layout = chance.below(6);
  o.result_layout = chance.below(6);
  o.target_layout = o.what >= What::fetch_and_op ? 0 : chance.below(6);
  if (o.what >= What::fetch_and_op) o.origin_layout = o.result_layout = 0;
  // Some MPIs move ten bytes of a long double in a layout with gaps.
  if (o.basic.kind == Basic::long_real) o.origin_layout = o.result_layout = o.target_layout = 0;
  o.values = chance.below(1000);
  o.kind = chance.of(setting.origins);
  o.result_kind = chance.of(setting.origins);
  o.request = passive && chance.below(3) == 0;
  o.large = MPI_VERSION >= 4 && chance.below(3) == 0;
  // What MPIs get wrong in windows that are theirs.
  if (!setting.ours && o.what == What::get && avoided("MPI_Rget, ")) o.request = false;
  if (!setting.ours && o.what != What::put && o.what != What::get && avoided("MPI_Get_accumulate, sum")) {
    o.origin_layout = o.result_layout = o.target_layout = 0;
    if (o.op == MPI_LAND) o.op = MPI_SUM;
    if (o.what == What::get_accumulate || o.what == What::fetch_no_op) o.what = What::accumulate;
    if (o.what == What::compare_and_swap && target == origin) o.what = What::put;
  }
  return o;
}

Bytes numbers(const Basic& basic, int n, int values) {
  Bytes out;
  for (int i = 0; i < n; ++i) append_number(out, basic, 1 + (values + i * 7) % 11);
  return out;
}

/// What an origin holds of one of its operations until the epoch has ended.
struct Buffers {
  explicit Buffers(const Operation& o)
      : operation(o),
        origin_type(layout(o.origin_layout, o.n, o.basic.type)),
        result_type(layout(o.result_layout, o.n, o.basic.type)),
        target_type(layout(o.target_layout, o.n, o.basic.type)) {
    const auto make = [&](MPI_Datatype type, Kind kind, bool given) {
      const auto map = typemap(type);
      const auto size = std::size_t(bounds_of(map).end) + 2 * guard;
      Bytes content(size, 0xA5);
      if (given) oracle_unpack(map, numbers(o.basic, o.n, o.values), content.data() + guard);
      return std::make_unique<Held>(kind, size, content);
    };
    origin = make(origin_type, o.kind, o.what != What::get);
    result = make(result_type, o.result_kind, false);
    compare = make(origin_type, o.result_kind, true);
  }
  ~Buffers() {
    for (auto* type : {&origin_type, &result_type, &target_type}) MPI_Type_free(type);
  }
  Buffers(const Buffers&) = delete;
  void* at(const std::unique_ptr<Held>& held) const { return held->memory.data() + guard; }

  int call(MPI_Win win, MPI_Aint disp, MPI_Request* request) const {
    const auto& o = operation;
    const auto t = o.target;
    void* const from = at(origin);
    void* const into = at(result);
#if MPI_VERSION >= 4
#define CALL(X, RX, ...)                                                                                 \
  (o.request ? (o.large ? MPI_##RX##_c(__VA_ARGS__, win, request) : MPI_##RX(__VA_ARGS__, win, request)) \
             : (o.large ? MPI_##X##_c(__VA_ARGS__, win) : MPI_##X(__VA_ARGS__, win)))
#else
#define CALL(X, RX, ...) (o.request ? MPI_##RX(__VA_ARGS__, win, request) : MPI_##X(__VA_ARGS__, win))
#endif
    switch (o.what) {
      case What::put: return CALL(Put, Rput, from, 1, origin_type, t, disp, 1, target_type);
      case What::get: return CALL(Get, Rget, from, 1, origin_type, t, disp, 1, target_type);
      case What::accumulate: return CALL(Accumulate, Raccumulate, from, 1, origin_type, t, disp, 1, target_type, o.op);
      case What::get_accumulate:
        return CALL(Get_accumulate, Rget_accumulate, from, 1, origin_type, into, 1, result_type, t, disp, 1,
                    target_type, o.op);
      case What::fetch_no_op:
        return CALL(Get_accumulate, Rget_accumulate, nullptr, 0, o.basic.type, into, 1, result_type, t, disp, 1,
                    target_type, MPI_NO_OP);
      case What::fetch_and_op: return MPI_Fetch_and_op(from, into, o.basic.type, t, disp, o.op, win);
      default: return MPI_Compare_and_swap(from, at(compare), into, o.basic.type, t, disp, win);
    }
#undef CALL
  }

  const Operation operation;
  MPI_Datatype origin_type, result_type, target_type;
  std::unique_ptr<Held> origin, result, compare;
};

/// What the operation does to the target's image and, of this rank's operation, to its buffers.
void apply(const Operation& o, Bytes& window, Buffers* mine) {
  MPI_Datatype type = layout(o.target_layout, o.n, o.basic.type);
  const auto map = typemap(type);
  auto* const at = window.data() + o.at;
  const auto old = oracle_pack(map, at), given = numbers(o.basic, o.n, o.values);
  switch (o.what) {
    case What::put: oracle_unpack(map, given, at); break;
    case What::accumulate:
    case What::get_accumulate:
    case What::fetch_and_op: oracle_unpack(map, reduced(o.basic, o.op, given, old), at); break;
    case What::compare_and_swap:
      if (old == given) oracle_unpack(map, given, at);  // compares with what it would write
      break;
    default: break;
  }
  MPI_Type_free(&type);
  if (!mine) return;
  const auto put = [&](MPI_Datatype t, const std::unique_ptr<Held>& held) {
    oracle_unpack(typemap(t), old, held->image.data() + guard);
  };
  if (o.what == What::get) put(mine->origin_type, mine->origin);
  if (o.what >= What::get_accumulate)
    put(o.n == 1 && o.what >= What::fetch_and_op ? o.basic.type : mine->result_type, mine->result);
}

// --- epochs --------------------------------------------------------------------------------------

enum class Epoch { fence, post, lock, lock_shared, lock_all, flush };
const std::vector<Epoch> epochs = {Epoch::fence,       Epoch::post,     Epoch::lock,
                                   Epoch::lock_shared, Epoch::lock_all, Epoch::flush};
const char* name_of(Epoch epoch) {
  static const char* const names[] = {"fence", "post and start", "lock", "shared lock", "lock_all", "flush"};
  return names[int(epoch)];
}

MPI_Group group_of(const Ints& members) {
  MPI_Group all, some;
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_incl(all, int(members.size()), members.data(), &some);
  PMPI_Group_free(&all);
  return some;
}

class Test {
 public:
  Test(const Setting& setting, unsigned seed) : setting_(setting), chance_(seed), seed_(seed) {
    const auto size = std::size_t(ranks() * parts_of_one) * part;
    for (int rank = 0; rank < ranks(); ++rank) {
      kinds_.push_back(chance_.of(setting.windows));
      units_.push_back(1 << chance_.below(5));
      empty_.push_back(chance_.below(6) == 0);
      images_.push_back(chance_.bytes(size));
    }
    window_ = std::make_unique<Held>(kinds_[std::size_t(me())], size, images_[std::size_t(me())]);
    const bool empty = empty_[std::size_t(me())];
    label_ = "seed " + std::to_string(seed);
    contract().section(label_ + ", Win_create");
    check_ok(MPI_Win_create(empty ? nullptr : window_->memory.data(), empty ? 0 : MPI_Aint(size),
                            units_[std::size_t(me())], MPI_INFO_NULL, MPI_COMM_WORLD, &win_),
             "MPI_Win_create");
    MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN);
    attributes(empty, MPI_Aint(size));
    if (std::all_of(empty_.begin(), empty_.end(), [](bool e) { return e; })) return;
    for (int round = 0; round < 6; ++round) go(chance_.of(epochs), round);
  }
  ~Test() {
    contract().section(label_ + ", Win_free");
    check_ok(MPI_Win_free(&win_), "MPI_Win_free");
    if (!empty_[std::size_t(me())]) window_->expect(label_ + ", the window after MPI_Win_free");
  }

 private:
  void attributes(bool empty, MPI_Aint size) {
    void* value = nullptr;
    int there = 0;
    check_ok(MPI_Win_get_attr(win_, MPI_WIN_BASE, &value, &there), "MPI_WIN_BASE");
    if (!empty) check(there && value == window_->memory.data(), "MPI_WIN_BASE");
    check_ok(MPI_Win_get_attr(win_, MPI_WIN_SIZE, &value, &there), "MPI_WIN_SIZE");
    check_equal(*static_cast<MPI_Aint*>(value), empty ? 0 : size, "MPI_WIN_SIZE");
    check_ok(MPI_Win_get_attr(win_, MPI_WIN_DISP_UNIT, &value, &there), "MPI_WIN_DISP_UNIT");
    check_equal(*static_cast<int*>(value), units_[std::size_t(me())], "MPI_WIN_DISP_UNIT");
  }

  /// What the owner stores in its window, at a time when it may.
  void store() {
    window_->image = images_[std::size_t(me())];
    window_->write();
  }

  void go(Epoch epoch, int round) {
    const auto what = label_ + ", round " + std::to_string(round) + ", " + name_of(epoch);
    contract().section(what);
    const bool passive = epoch >= Epoch::lock;
    const auto n = std::size_t(ranks());
    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
    for (auto& row : reaches)
      for (std::size_t target = 0; target < row.size(); ++target)
        row[target] = !empty_[target] && chance_.below(3) != 0;
    std::vector<Operation> all;
    for (int origin = 0; origin < ranks(); ++origin)
      for (int i = 0; i < parts_of_one; ++i) {
        const int target = chance_.below(ranks());
        auto o = choose(chance_, setting_, origin, target, i, passive);
        if (reaches[std::size_t(origin)][std::size_t(target)]) all.push_back(o);
      }
    // Half of the rounds begin with new bytes in the windows. What is accumulated to is numbers.
    const bool fresh = chance_.below(2) == 0;
    for (auto& image : images_)
      if (fresh) image = chance_.bytes(image.size());
    for (const auto& o : all) {
      MPI_Datatype type = layout(o.target_layout, o.n, o.basic.type);
      const int values = o.what == What::compare_and_swap && o.values % 2 ? o.values : o.values / 2;
      oracle_unpack(typemap(type), numbers(o.basic, o.n, values), images_[std::size_t(o.target)].data() + o.at);
      MPI_Type_free(&type);
    }
    std::vector<std::unique_ptr<Buffers>> mine;
    for (const auto& o : all)
      if (o.origin == me()) mine.push_back(std::make_unique<Buffers>(o));
    const auto run = [&](int target) {
      for (const auto& one : mine)
        if (target < 0 || one->operation.target == target) begin(*one, what);
    };
    if (epoch == Epoch::fence) {
      store();
      MPI_Win_fence(0, win_);
      run(-1);
      MPI_Win_fence(0, win_);
    } else if (epoch == Epoch::post) {
      Ints targets, origins;
      for (int rank = 0; rank < ranks(); ++rank) {
        if (reaches[std::size_t(me())][std::size_t(rank)]) targets.push_back(rank);
        if (reaches[std::size_t(rank)][std::size_t(me())]) origins.push_back(rank);
      }
      MPI_Group to = group_of(targets), from = group_of(origins);
      if (me() % 2) usleep(useconds_t(2000));  // others start before this rank posts
      store();
      if (!origins.empty()) check_ok(MPI_Win_post(from, 0, win_), what + ", MPI_Win_post");
      if (!targets.empty()) {
        check_ok(MPI_Win_start(to, 0, win_), what + ", MPI_Win_start");
        run(-1);
        check_ok(MPI_Win_complete(win_), what + ", MPI_Win_complete");
      }
      if (!origins.empty() && round % 2)
        for (int done = 0; !done;) check_ok(MPI_Win_test(win_, &done), what + ", MPI_Win_test");
      else if (!origins.empty())
        check_ok(MPI_Win_wait(win_), what + ", MPI_Win_wait");
      PMPI_Group_free(&to);
      PMPI_Group_free(&from);
    } else {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me(), 0, win_);
      store();
      MPI_Win_unlock(me(), win_);
      MPI_Barrier(MPI_COMM_WORLD);
      if (epoch == Epoch::lock || epoch == Epoch::lock_shared) {
        for (int i = 0; i < ranks(); ++i) {
          const int target = (me() + i) % ranks();
          check_ok(MPI_Win_lock(epoch == Epoch::lock ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win_), what);
          run(target);
          check_ok(MPI_Win_unlock(target, win_), what);
        }
      } else {
        check_ok(MPI_Win_lock_all(0, win_), what);
        run(-1);
        if (epoch == Epoch::flush) {
          if (round % 2)
            for (int rank = 0; rank < ranks(); ++rank) check_ok(MPI_Win_flush_local(rank, win_), what);
          check_ok(round % 3 ? MPI_Win_flush_all(win_) : MPI_Win_flush_local_all(win_), what);
        }
        check_ok(MPI_Win_unlock_all(win_), what);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      // What others have put is looked at under a lock of one's own.
      MPI_Win_lock(MPI_LOCK_SHARED, me(), 0, win_);
      MPI_Win_unlock(me(), win_);
    }
    auto own = mine.begin();
    for (const auto& o : all) {
      auto* buffers = o.origin == me() ? (own++)->get() : nullptr;
      apply(o, images_[std::size_t(o.target)], buffers);
      if (!buffers) continue;
      buffers->origin->expect(what + ", the origin of " + o.name());
      buffers->result->expect(what + ", the result of " + o.name());
    }
    window_->image = images_[std::size_t(me())];
    if (!empty_[std::size_t(me())]) {
      const auto wrong = window_->expect(what + ", the window of rank " + std::to_string(me()));
      for (const auto& o : all)
        if (o.target == me() && wrong >= o.at && wrong < o.at + part && wrong < window_->image.size())
          check(false, what + ", perhaps by " + o.name());
    }
    MPI_Barrier(MPI_COMM_WORLD);  // nobody stores before all have looked
  }

  void begin(const Buffers& buffers, const std::string& what) {
    const auto& o = buffers.operation;
    const auto disp = MPI_Aint(o.at) / units_[std::size_t(o.target)];
    MPI_Request request = MPI_REQUEST_NULL;
    check_ok(buffers.call(win_, disp, &request), what + ", " + o.name());
    if (o.request && o.what < What::fetch_and_op) check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ", MPI_Wait");
  }

  const Setting setting_;
  Chance chance_;
  const unsigned seed_;
  std::string label_;
  std::vector<Kind> kinds_;
  Ints units_;
  std::vector<bool> empty_;
  std::vector<Bytes> images_;
  std::unique_ptr<Held> window_;
  MPI_Win win_ = MPI_WIN_NULL;
};

// --- what the random epochs do not have ----------------------------------------------------------

template <class T>
struct Array {
  Array(Kind kind, std::size_t n, T value) : values(n, value), memory(kind, n * sizeof(T)) { write(); }
  void write() { memory.write(values.data()); }
  void read() {
    const auto bytes = memory.read();
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  void* at(std::size_t i = 0) { return memory.data() + i * sizeof(T); }
  void expect(const std::string& what) {
    const auto expected = values;
    read();
    const auto at = std::size_t(std::mismatch(values.begin(), values.end(), expected.begin()).first - values.begin());
    check(at == values.size(), what, "at " + std::to_string(at));
  }
  std::vector<T> values;
  CudaMemory memory;
};

struct Win {
  template <class T>
  explicit Win(Array<T>& memory, MPI_Comm comm = MPI_COMM_WORLD) {
    check_ok(MPI_Win_create(memory.at(), MPI_Aint(memory.memory.size()), sizeof(T), MPI_INFO_NULL, comm, &win),
             "MPI_Win_create");
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  }
  ~Win() { MPI_Win_free(&win); }
  operator MPI_Win() const { return win; }
  /// The owner looks at its memory after a barrier.
  void look() const {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me(), 0, win);
    MPI_Win_unlock(me(), win);
  }
  MPI_Win win;
};

/// All ranks update the same elements of one rank at a time, in all ways.
void together(const Setting& setting) {
  const std::string what = "all update the same elements";
  contract().section(what);
  constexpr int rounds = 20, n = 2000;
  const auto kind = setting.windows.front();
  Array<std::int64_t> memory(kind, 2 + n, 0);
  {
    const Win win(memory);
    Array<std::int64_t> one(Kind::device, 1, 1), many(Kind::device, n, me() + 1), fetched(Kind::device, 1, -1);
    std::vector<std::int64_t> seen;
    for (const bool shared : {true, false}) {
      if (shared) MPI_Win_lock_all(0, win);
      for (int round = 0; round < rounds; ++round) {
        if (!shared) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        check_ok(MPI_Fetch_and_op(one.at(), fetched.at(), MPI_INT64_T, 0, 0, MPI_SUM, win), what);
        if (round % 4 == 0)
          check_ok(MPI_Accumulate(many.at(), n, MPI_INT64_T, 0, 2, n, MPI_INT64_T, MPI_SUM, win), what);
        shared ? MPI_Win_flush(0, win) : MPI_Win_unlock(0, win);
        fetched.read();
        seen.push_back(fetched.values[0]);
        // One more by comparing and swapping, which succeeds when no other rank has come between.
        for (std::int64_t expected = 0;;) {
          Array<std::int64_t> next(Kind::host, 1, expected + 1), compare(Kind::host, 1, expected);
          if (!shared) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
          check_ok(MPI_Compare_and_swap(next.at(), compare.at(), fetched.at(), MPI_INT64_T, 0, 1, win), what);
          shared ? MPI_Win_flush(0, win) : MPI_Win_unlock(0, win);
          fetched.read();
          if (std::exchange(expected, fetched.values[0]) == fetched.values[0]) break;
        }
      }
      if (shared) MPI_Win_unlock_all(win);
    }
    win.look();
    const int each = 2 * rounds, all = each * ranks();
    check(std::is_sorted(seen.begin(), seen.end()), what + ", what a rank has fetched grows");
    std::vector<std::int64_t> everyone(std::size_t(all), 0);
    PMPI_Allgather(seen.data(), each, MPI_INT64_T, everyone.data(), each, MPI_INT64_T, MPI_COMM_WORLD);
    std::sort(everyone.begin(), everyone.end());
    for (int i = 0; i < all; ++i) check_equal(everyone[std::size_t(i)], i, what + ", each number is fetched once");
    if (me() == 0) {
      std::fill(memory.values.begin(), memory.values.end(), 2 * rounds / 4 * ranks() * (ranks() + 1) / 2);
      memory.values[0] = memory.values[1] = all;
    }
    memory.expect(what);
  }
}

/// Updates of one origin to one place come in their order, also within an epoch.
void in_order(const Setting& setting) {
  const std::string what = "updates in order";
  contract().section(what);
  constexpr int n = 1500;
  Array<double> memory(setting.windows.front(), n, 5);
  const Win win(memory);
  const int target = (me() + 1) % ranks();
  std::vector<std::unique_ptr<Array<double>>> given, fetched;
  MPI_Win_fence(0, win);
  const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_PROD, MPI_NO_OP, MPI_MAX};
  double value = 5;
  std::vector<double> expected;
  for (const auto op : ops) {
    given.push_back(std::make_unique<Array<double>>(given.size() % 2 ? Kind::device : Kind::host, n, 3 + me() % 2));
    fetched.push_back(std::make_unique<Array<double>>(given.size() % 3 ? Kind::device : Kind::host, n, -1));
    check_ok(MPI_Get_accumulate(given.back()->at(), n, MPI_DOUBLE, fetched.back()->at(), n, MPI_DOUBLE, target, 0, n,
                                MPI_DOUBLE, op, win),
             what);
    expected.push_back(value);
    const double mine = 3 + me() % 2;
    value = op == MPI_SUM ? value + mine : op == MPI_REPLACE ? mine : op == MPI_PROD ? value * mine : value;
  }
  MPI_Win_fence(0, win);
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    std::fill(fetched[i]->values.begin(), fetched[i]->values.end(), expected[i]);
    fetched[i]->expect(what + ", fetched by operation " + std::to_string(i));
  }
  const double theirs = 3 + (me() + ranks() - 1) % ranks() % 2;
  std::fill(memory.values.begin(), memory.values.end(), theirs * theirs);
  memory.expect(what + ", the window");
}

/// Long data, from layout to layout.
void long_ones(const Setting& setting) {
  constexpr int n = 150000;
  const int target = (me() + 1) % ranks(), source = (me() + ranks() - 1) % ranks();
  for (const Kind kind : {Kind::device, Kind::host, Kind::pinned, Kind::pool})
    for (const int strided : {0, 1, 2}) {
      const std::string what = std::string("long data in ") + name_of(kind) + ", " + std::to_string(strided);
      contract().section(what);
      Array<double> memory(setting.windows.front(), 3 * n, 1), origin(kind, 3 * n, 2), result(kind, 3 * n, -1);
      MPI_Datatype here = layout(strided ? 1 : 0, n, MPI_DOUBLE), there = layout(strided == 2 ? 1 : 0, n, MPI_DOUBLE);
      const std::size_t h = strided ? 3 : 1, t = strided == 2 ? 3 : 1;
      const bool gets = setting.ours || !avoided("MPI_Get of long data");
      for (std::size_t i = 0; i < n; ++i) origin.values[i * h] = double(i % 1000) + me();
      origin.write();
      {
        const Win win(memory);
        MPI_Win_fence(0, win);
        check_ok(MPI_Put(origin.at(), 1, here, target, 0, 1, there, win), what + ", put");
        MPI_Win_fence(0, win);
        for (std::size_t i = 0; i < n; ++i) memory.values[i * t] = double(i % 1000) + source;
        memory.expect(what + ", put");
        MPI_Win_fence(0, win);
        if (gets) {
          check_ok(MPI_Get(result.at(), 1, here, target, 0, 1, there, win), what + ", get");
          MPI_Win_fence(0, win);
          for (std::size_t i = 0; i < n; ++i) result.values[i * h] = double(i % 1000) + me();
          result.expect(what + ", get");
          MPI_Win_fence(0, win);
        }
        check_ok(MPI_Accumulate(origin.at(), 1, here, target, 0, 1, there, MPI_SUM, win), what + ", accumulate");
        MPI_Win_fence(0, win);
        for (std::size_t i = 0; i < n; ++i) memory.values[i * t] *= 2;
        memory.expect(what + ", accumulate");
        if (gets && (setting.ours || !avoided("MPI_Get_accumulate, sum"))) {
          MPI_Win_fence(0, win);
          check_ok(MPI_Get_accumulate(origin.at(), 1, here, result.at(), 1, here, target, 0, 1, there, MPI_MAX, win),
                   what + ", get and accumulate");
          MPI_Win_fence(0, win);
          for (std::size_t i = 0; i < n; ++i) result.values[i * h] = 2 * (double(i % 1000) + me());
          result.expect(what + ", get and accumulate");
        }
        memory.expect(what + ", the window at the end");
      }
      MPI_Type_free(&here);
      MPI_Type_free(&there);
    }
}

/// Random types on both sides. Needs an MPI that has no part in it.
void random_types(unsigned seed) {
  RandomType types(seed, false, true);
  for (int round = 0; round < 40; ++round) {
    const auto what = "random types, seed " + std::to_string(seed) + ", round " + std::to_string(round);
    contract().section(what);
    MPI_Datatype type = types.make(4), twice;
    const bool copies = types.pick(0, 1);
    MPI_Type_contiguous(1, type, &twice);
    if (copies) {
      MPI_Type_free(&twice);
      MPI_Type_create_resized(type, 0, type_extent(type) + 24, &twice);
    }
    MPI_Type_commit(&type);
    MPI_Type_commit(&twice);
    const int n = types.pick(1, 3);
    const auto there = typemap(type, n), here = typemap(twice, n);
    const bool put = types.pick(0, 1);
    const Kind kind = types.pick(0, 2) ? Kind::device : Kind::host;
    if (overlaps(there) || overlaps(here) || size_of(there) == 0) {
      MPI_Type_free(&type);
      MPI_Type_free(&twice);
      continue;
    }
    const auto w = bounds_of(there), o = bounds_of(here);
    const int target = (me() + 1) % ranks(), source = (me() + ranks() - 1) % ranks();
    const auto window_size = std::size_t(w.end - w.begin) + 2 * guard,
               origin_size = std::size_t(o.end - o.begin) + 2 * guard;
    const auto bytes_of = [&](int rank, std::size_t n, unsigned salt) {
      return Chance(seed + unsigned(round * 64 + rank * 2) + salt).bytes(n);
    };
    Held window(Kind::device, window_size, bytes_of(me(), window_size, 0)),
        origin(kind, origin_size, bytes_of(me(), origin_size, 1));
    MPI_Win win;
    MPI_Win_create(window.memory.data(), MPI_Aint(window_size), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    auto* const from = origin.memory.data() + guard - o.begin;
    const MPI_Aint disp = guard - w.begin;
    if (put)
      check_ok(MPI_Put(from, n, twice, target, disp, n, type, win), what);
    else
      check_ok(MPI_Get(from, n, twice, target, disp, n, type, win), what);
    MPI_Win_fence(0, win);
    if (put) {
      auto given = bytes_of(source, origin_size, 1);
      oracle_unpack(there, oracle_pack(here, given.data() + guard - o.begin), window.image.data() + disp);
    } else {
      auto theirs = bytes_of(target, window_size, 0);
      oracle_unpack(here, oracle_pack(there, theirs.data() + disp), origin.image.data() + guard - o.begin);
    }
    window.expect(what + ", the window");
    origin.expect(what + ", the origin");
    MPI_Win_free(&win);
    MPI_Type_free(&type);
    MPI_Type_free(&twice);
  }
}

/// Ranks in another order than the world's, and some of them.
void other_communicators(const Setting& setting) {
  const std::string what = "ranks in the opposite order";
  contract().section(what);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, ranks() > 2 && me() == 1, -me(), &comm);
  int rank, count;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &count);
  if (count > 1) {  // Open MPI 4.1 makes no windows of one rank
    Array<int> memory(setting.windows.front(), 64, rank), origin(Kind::device, 64, 100 + rank);
    const Win win(memory, comm);
    MPI_Win_fence(0, win);
    check_ok(MPI_Put(origin.at(), 64, MPI_INT, (rank + 1) % count, 0, 64, MPI_INT, win), what);
    MPI_Win_fence(0, win);
    std::fill(memory.values.begin(), memory.values.end(), 100 + (rank + count - 1) % count);
    memory.expect(what);
  }
  MPI_Comm_free(&comm);
}

/// What is wrong is an error of the call, and the next call is sound.
void errors(const Setting& setting) {
  const std::string what = "errors";
  contract().section(what);
  Array<int> memory(setting.windows.front(), 64, 7), origin(Kind::device, 64, 9);
  const Win win(memory);
  const int target = (me() + 1) % ranks();
  check(MPI_Put(origin.at(), 1, MPI_INT, target, 0, 1, MPI_INT, win) != MPI_SUCCESS, "a put outside of all epochs");
  MPI_Win_fence(0, win);
  check_class(MPI_Put(origin.at(), -1, MPI_INT, target, 0, 1, MPI_INT, win), MPI_ERR_COUNT, "a negative count");
  check_class(MPI_Put(origin.at(), 1, MPI_INT, ranks(), 0, 1, MPI_INT, win), MPI_ERR_RANK, "a rank that is not there");
  check_ok(MPI_Put(origin.at(), 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win), "a put to nobody");
  check_ok(MPI_Put(origin.at(), 0, MPI_INT, target, 0, 0, MPI_INT, win), "a put of nothing");
  if (setting.ours) {
    check_class(MPI_Put(origin.at(), 2, MPI_INT, target, 63, 2, MPI_INT, win), MPI_ERR_RMA_RANGE, "beyond the end");
    check_class(MPI_Get(origin.at(), 2, MPI_INT, target, -1, 2, MPI_INT, win), MPI_ERR_RMA_RANGE, "before the begin");
    check_class(MPI_Accumulate(origin.at(), 65, MPI_INT, target, 0, 65, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE,
                "an accumulate beyond the end");
    check(MPI_Accumulate(origin.at(), 1, MPI_INT, target, 0, 1, MPI_INT, MPI_OP_NULL, win) != MPI_SUCCESS,
          "no operation");
  }
  check_ok(MPI_Put(origin.at(), 1, MPI_INT, target, 5, 1, MPI_INT, win), what);
  MPI_Win_fence(0, win);
  memory.values[5] = 9;
  memory.expect(what);
  check(MPI_Win_unlock(target, win) != MPI_SUCCESS, "an unlock without a lock");
}

/// Memory of both kinds, attached to a dynamic window.
void dynamic(const Setting& setting) {
  const std::string what = "a dynamic window";
  contract().section(what);
  MPI_Win win;
  if (MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) != MPI_SUCCESS) return;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  Array<double> on_device(Kind::device, 300, me()), second(Kind::device, 100, -1), on_host(Kind::host, 300, me()),
      origin(Kind::device, 300, 50 + me());
  if (!setting.ours) {
    const int code = MPI_Win_attach(win, on_device.at(), 2400);
    if (code == MPI_SUCCESS)
      check_ok(MPI_Win_detach(win, on_device.at()), what + ", MPI_Win_detach");
    else
      check_error(code, MPI_ERR_BUFFER, what + ", MPI_Win_attach");
    MPI_Win_free(&win);
    return;
  }
  const int target = (me() + 1) % ranks(), source = (me() + ranks() - 1) % ranks();
  Array<double>* const all[] = {&on_device, &second, &on_host};
  for (int round = 0; round < 3; ++round) {
    MPI_Aint mine[3], theirs[3];
    for (int i = 0; i < 3; ++i) {
      check_ok(MPI_Win_attach(win, all[i]->at(), MPI_Aint(all[i]->memory.size())), what + ", MPI_Win_attach");
      MPI_Get_address(all[i]->at(), &mine[i]);
    }
    MPI_Sendrecv(mine, 3, MPI_AINT, source, 1, theirs, 3, MPI_AINT, target, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, win);
    MPI_Datatype strided = layout(1, 100, MPI_DOUBLE);
    check_ok(MPI_Put(origin.at(), 100, MPI_DOUBLE, target, theirs[0], 1, strided, win), what + ", put");
    check_ok(MPI_Put(origin.at(), 100, MPI_DOUBLE, target, theirs[2], 100, MPI_DOUBLE, win),
             what + ", put to host memory");
    check_ok(MPI_Accumulate(origin.at(), 99, MPI_DOUBLE, target, theirs[1] + 8, 99, MPI_DOUBLE, MPI_SUM, win),
             what + ", accumulate");
    MPI_Win_unlock_all(win);
    MPI_Type_free(&strided);
    MPI_Barrier(MPI_COMM_WORLD);
    for (std::size_t i = 0; i < 100; ++i) on_device.values[3 * i] = on_host.values[i] = 50 + source;
    for (std::size_t i = 1; i < 100; ++i) second.values[i] += 50 + source;
    on_device.expect(what + ", put");
    second.expect(what + ", accumulate");
    on_host.expect(what + ", put to host memory");
    MPI_Barrier(MPI_COMM_WORLD);
    for (auto* one : all) check_ok(MPI_Win_detach(win, one->at()), what + ", MPI_Win_detach");
    on_device.memory.write(on_device.values.data());
  }
  Array<double> pool(Kind::pool, 8, 0);
  check(MPI_Win_attach(win, pool.at(), 64) != MPI_SUCCESS || ranks() == 1, what + ", memory that others do not reach");
  MPI_Win_free(&win);
}

/// Many short operations of an epoch share launches.
void few_launches() {
  const std::string what = "launches of 26 puts";
  contract().section(what);
  Array<double> memory(Kind::device, 26 * 30, 0), origin(Kind::device, 26 * 30, 1 + me());
  const Win win(memory);
  MPI_Datatype type = layout(1, 10, MPI_DOUBLE);
  const int target = (me() + 1) % ranks(), source = (me() + ranks() - 1) % ranks();
  for (int round = 0; round < 2; ++round) {
    MPI_Win_fence(0, win);
    const auto before = sim_calls("cuLaunchKernel");
    for (int i = 0; i < 26; ++i)
      check_ok(MPI_Put(origin.at(std::size_t(i) * 30), 1, type, target, i * 30, 1, type, win), what);
    MPI_Win_fence(0, win);
    const auto launches = sim_calls("cuLaunchKernel") - before;
    check(launches <= 2, what, std::to_string(launches));
  }
  for (std::size_t i = 0; i < memory.values.size(); i += 3) memory.values[i] = 1 + source;
  memory.expect(what);
  MPI_Type_free(&type);
}

std::vector<MPI_Win>& left_over() {
  static std::vector<MPI_Win> all;
  return all;
}
int free_left_over(MPI_Comm, int, void*, void*) {
  for (auto& win : left_over()) MPI_Win_free(&win);
  return MPI_SUCCESS;
}

/// A device that fails is an error of the call or of what completes it. Nobody waits for ever, and
/// later epochs are right.
void failures(const Setting& setting) {
  auto* const fail = reinterpret_cast<void (*)(const char*, int, int, int)>(dlsym(RTLD_DEFAULT, "dunnageSimFail"));
  auto* const clear = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "dunnageSimFailClear"));
  if (!fail || !clear) return;
  const char* const functions[] = {"cuLaunchKernel",    "cuMemcpyAsync",       "cuStreamQuery",
                                   "cuStreamCreate",    "cuMemAlloc",          "cuIpcOpenMemHandle",
                                   "cuIpcGetMemHandle", "cuStreamSynchronize", "cuCtxPushCurrent"};
  for (const char* function : functions)
    for (int after = 0; after < 4; ++after)
      for (const bool while_made : {false, true}) {
        const auto what =
            std::string("failures of ") + function + ", " + std::to_string(after) + (while_made ? ", made" : "");
        contract().section(what);
        const bool mine = me() == ranks() - 1;
        Array<double> memory(setting.windows.front(), 3000, 1), origin(Kind::device, 3000, 5 + me()),
            result(Kind::device, 3000, 0);
        MPI_Win win = MPI_WIN_NULL;
        if (mine && while_made) fail(function, after, CUDA_ERROR_LAUNCH_FAILED, 0);
        const int made = MPI_Win_create(memory.at(), 24000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        if (mine) clear();
        int all = 0;
        const int well = made == MPI_SUCCESS;
        check(well || (mine && while_made && win == MPI_WIN_NULL), what + ", MPI_Win_create");
        PMPI_Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (!all) {
          // MPI_Win_free would wait for the rank without a handle, which frees its part at the end.
          if (well) left_over().push_back(win);
          continue;
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        const int target = (me() + 1) % ranks(), source = (me() + ranks() - 1) % ranks();
        const auto epoch = [&](bool failing) {
          int code = MPI_SUCCESS;
          const auto note = [&](int rc) { code = rc == MPI_SUCCESS ? code : rc; };
          note(MPI_Win_fence(0, win));
          if (failing && mine && !while_made) fail(function, after, CUDA_ERROR_LAUNCH_FAILED, 0);
          note(MPI_Put(origin.at(), 1000, MPI_DOUBLE, target, 0, 1000, MPI_DOUBLE, win));
          note(MPI_Accumulate(origin.at(), 1000, MPI_DOUBLE, target, 1000, 1000, MPI_DOUBLE, MPI_REPLACE, win));
          note(MPI_Accumulate(origin.at(), 1000, MPI_DOUBLE, target, 2000, 1000, MPI_DOUBLE, MPI_MAX, win));
          note(MPI_Win_fence(0, win));
          if (mine) clear();
          if (!failing || !mine) check_ok(code, what);
          MPI_Barrier(MPI_COMM_WORLD);
        };
        epoch(true);
        epoch(false);
        std::fill(memory.values.begin(), memory.values.end(), 5 + source);
        memory.expect(what);
        check_ok(MPI_Win_free(&win), what + ", MPI_Win_free");
      }
}

CONTRACT_PROGRAM(windows) {
  Contract contract("gpu_windows", &argc, &argv);
  const std::string mode = argc > 1 ? argv[1] : "device";
  const std::string which = argc > 2 ? argv[2] : "";
  const auto seed = std::getenv("CONTRACT_SEED") ? unsigned(std::atoi(std::getenv("CONTRACT_SEED"))) : 0u;
  Setting setting;
  setting.ours = std::getenv("CONTRACT_OUR_WINDOWS") != nullptr;
  setting.origins = {Kind::device, Kind::device, Kind::host, Kind::pinned, Kind::pool};
  if (mode == "device") setting.windows = {Kind::device};
  if (mode == "pool") setting.windows = {Kind::pool, Kind::device};
  if (mode == "mixed") setting.windows = {Kind::device, Kind::device, Kind::host, Kind::pinned};
  if (mode == "host") {  // shows what the MPI itself gets wrong
    setting.windows = setting.origins = {Kind::host};
    for (unsigned i = 0; i < 12; ++i) Test(setting, 100 * unsigned(ranks()) + i);
    return contract.finish();
  }
  if (which == "failures") {
    failures(setting);
    int keyval;  // deleted when MPI_Finalize begins
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_left_over, &keyval, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    return contract.finish();
  }
  for (unsigned i = 0; i < (seed ? 1u : 12u); ++i) Test(setting, seed ? seed : 100 * unsigned(ranks()) + i);
  if (!seed) {
    if (setting.ours || !avoided("MPI_Get_accumulate, sum")) together(setting);
    in_order(setting);
    long_ones(setting);
    other_communicators(setting);
    errors(setting);
    dynamic(setting);
  }
  if (setting.ours) {
    for (unsigned i = 0; i < 3; ++i) random_types(seed ? seed : 1000 + i);
    few_launches();
  }
  static Array<int> left(setting.windows.front(), 16, 1);
  static MPI_Win unfreed;  // MPI_Finalize meets a window
  if (!which.empty()) MPI_Win_create(left.at(), 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &unfreed);
  return contract.finish();
}

}  // namespace gpu_windows_contract
