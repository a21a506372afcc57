// Windows in device memory: random operations between random types, in every kind of epoch, with
// windows and origins in all kinds of memory. All ranks know what all ranks do, so each knows what
// its window must hold.
#include <cstdint>
#include <memory>
#include <random>

#include <dlfcn.h>

#include "cuda_memory.hpp"
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
  if (!setting.ours && avoided("MPI_Get_accumulate, sum")) o.result_layout = 0;
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

CONTRACT_PROGRAM(gpu_windows) {
  Contract contract("gpu_windows", &argc, &argv);
  const std::string mode = argc > 1 ? argv[1] : "device";
  const auto seed = std::getenv("CONTRACT_SEED") ? unsigned(std::atoi(std::getenv("CONTRACT_SEED"))) : 0u;
  Setting setting;
  setting.ours = std::getenv("CONTRACT_OUR_WINDOWS") != nullptr;
  setting.origins = {Kind::device, Kind::device, Kind::host, Kind::pinned, Kind::pool};
  if (mode == "device") setting.windows = {Kind::device};
  if (mode == "pool") setting.windows = {Kind::pool, Kind::device};
  if (mode == "mixed") setting.windows = {Kind::device, Kind::device, Kind::host, Kind::pinned};
  // The ranks get to know each other's GPUs.
  for (unsigned i = 0; i < (seed ? 1u : 12u); ++i) Test(setting, seed ? seed : 100 * unsigned(ranks()) + i);
  return contract.finish();
}

}  // namespace gpu_windows_contract
