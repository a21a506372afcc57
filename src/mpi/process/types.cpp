#include "mpi/process/types.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "pack/gpu/pack.hpp"
#include "type/quirks.hpp"

namespace dunnage::mpi {

namespace {

using plan::Reason;

// More counts of one type than this are planned anew each time.
constexpr int most_variants = 32;

// A type's end is told by the hook of MPI_Type_free, or, where that does not see every language's
// call, by the delete callback of an attribute: it comes from whatever frees the type.
bool told_by_attribute() { return process->behaviour.frees_types_unseen; }
int keyval = MPI_KEYVAL_INVALID;
std::once_flag keyval_once;

int forget(MPI_Datatype type, int, void*, void*) {
  delete process->types.erase(key_of(type));
  return MPI_SUCCESS;
}

bool watch(MPI_Datatype type) {
  if (!told_by_attribute()) return true;
  std::call_once(keyval_once, [] {
    if (process->own.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, nullptr) != MPI_SUCCESS)
      keyval = MPI_KEYVAL_INVALID;
  });
  return keyval != MPI_KEYVAL_INVALID && process->own.Type_set_attr(type, keyval, nullptr) == MPI_SUCCESS;
}

/// A second commit of a type changes nothing, and another thread may be using what is known of it.
/// Only a new type of a handle whose old one ended unseen takes its place.
bool known_already(MPI_Datatype type, const KnownType& found) {
  const auto* known = known_type(type);
  if (known && known->reason() == Reason::contiguous && known->layout().size == 0) return true;  // a predefined type
  return known && known->reason() == found.reason() && known->mixed() == found.mixed() &&
         known->layout() == found.layout();
}

void remember(MPI_Datatype type, std::unique_ptr<KnownType> known) {
  if (known_already(type, *known)) return;
  if (watch(type)) delete process->types.insert(key_of(type), known.release());
}

/// Which datatypes this MPI packs differently from the standard. See type/quirks.hpp.
bool quirk(const type::Spec& spec) {
  const auto& own_order = process->behaviour.own_order;
  return (own_order.stride_of_minus_one && type::has_stride_of_minus_one(spec)) ||
         (own_order.empty_struct_member && type::has_empty_struct_member(spec)) ||
         (own_order.negative_extent && type::has_negative_extent(spec)) ||
         (own_order.zero_extent && type::has_zero_extent(spec)) ||
         (own_order.stride_of_blocklength && type::has_stride_of_blocklength(spec)) ||
         (own_order.cyclic_blocks && type::has_cyclic_blocks(spec)) ||
         (own_order.large_elements_off_grid && type::has_large_elements_off_grid(spec));
}

template <class First>
void know_pair(MPI_Datatype type) {
  struct Pair {
    First value;
    int index;
  };
  const auto spec =
      type::named("pair", {{0, sizeof(First)}, {offsetof(Pair, index), sizeof(int)}}, sizeof(Pair), alignof(Pair));
  auto layout = type::layout_of(*spec);
  const auto reason = layout.contiguous() ? Reason::contiguous : Reason::accelerated;
  delete process->types.insert(key_of(type), new KnownType(std::move(layout), reason, true));
}

/// Those that are contiguous. Asked at run time: handles of Open MPI are addresses in its library.
auto plain_types() {
  return std::array{MPI_BYTE,
                    MPI_PACKED,
                    MPI_CHAR,
                    MPI_SIGNED_CHAR,
                    MPI_UNSIGNED_CHAR,
                    MPI_WCHAR,
                    MPI_SHORT,
                    MPI_UNSIGNED_SHORT,
                    MPI_INT,
                    MPI_UNSIGNED,
                    MPI_LONG,
                    MPI_UNSIGNED_LONG,
                    MPI_LONG_LONG,
                    MPI_UNSIGNED_LONG_LONG,
                    MPI_FLOAT,
                    MPI_DOUBLE,
                    MPI_LONG_DOUBLE,
                    MPI_C_BOOL,
                    MPI_INT8_T,
                    MPI_INT16_T,
                    MPI_INT32_T,
                    MPI_INT64_T,
                    MPI_UINT8_T,
                    MPI_UINT16_T,
                    MPI_UINT32_T,
                    MPI_UINT64_T,
                    MPI_AINT,
                    MPI_COUNT,
                    MPI_OFFSET,
                    MPI_C_COMPLEX,
                    MPI_C_DOUBLE_COMPLEX,
                    MPI_C_LONG_DOUBLE_COMPLEX,
                    MPI_INTEGER,
                    MPI_REAL,
                    MPI_DOUBLE_PRECISION,
                    MPI_COMPLEX,
                    MPI_DOUBLE_COMPLEX,
                    MPI_LOGICAL,
                    MPI_CHARACTER,
                    MPI_INTEGER1,
                    MPI_INTEGER2,
                    MPI_INTEGER4,
                    MPI_INTEGER8,
                    MPI_REAL4,
                    MPI_REAL8,
                    MPI_REAL16,
                    MPI_COMPLEX8,
                    MPI_COMPLEX16,
                    MPI_COMPLEX32,
                    MPI_2REAL,
                    MPI_2DOUBLE_PRECISION,
                    MPI_2INTEGER,
                    MPI_CXX_BOOL,
                    MPI_CXX_FLOAT_COMPLEX,
                    MPI_CXX_DOUBLE_COMPLEX,
                    MPI_CXX_LONG_DOUBLE_COMPLEX,
                    MPI_2INT};
}

}  // namespace

struct KnownType::GpuVariant {
  std::int64_t count;
  std::shared_ptr<const pack::gpu::GpuRecipe> recipe;
  const GpuVariant* next;
};

KnownType::~KnownType() {
  for (const auto* v = gpu_variants_.load(); v != nullptr;) {
    const auto* next = v->next;
    delete v;
    v = next;
  }
  for (const auto* v = variants_.load(); v != nullptr;) {
    const auto* next = v->next;
    delete v;
    v = next;
  }
}

void KnownType::set_bytes(std::int64_t bytes) {
  bytes_ = bytes;
  if (layout_.size == 0) layout_ = type::layout_of(*type::named("bytes", {{0, bytes}}, bytes, 1));
}

namespace {

Reason choose(const plan::Shape& shape, plan::Operation operation, plan::Peers peers) {
  switch (process->settings.force) {
    case base::Force::always: return Reason::accelerated;
    case base::Force::never: return Reason::never;
    default: return plan::choose(process->model, shape, operation, peers);
  }
}

}  // namespace

Variant KnownType::plan(std::int64_t count) const {
  const auto program = std::make_shared<const pack::Program>(layout_, count);
  Variant made{count, variants_.load(std::memory_order_acquire), false, {}, {}, {}, {}, program};
  const plan::Shape shape{program->size(), program->blocks(), program->stores() == pack::Stores::streamed, mixed_};
  const std::size_t classes = process->several_hosts ? plan::peer_classes : 1;
  for (std::size_t i = 0; i < plan::operations; ++i) {
    for (std::size_t peers = 0; peers < plan::peer_classes; ++peers)
      made.choices[peers][i] = choose(shape, static_cast<plan::Operation>(i), static_cast<plan::Peers>(peers));
    const auto operation = static_cast<plan::Operation>(i);
    made.leaves_nonblocking[i] =
        process->settings.force != base::Force::always && plan::is_message(operation) &&
        plan::may_leave(shape, operation) &&
        !plan::may_gain_nonblocking(process->model, shape, operation, plan::Peers::same_host) &&
        (classes == 1 || !plan::may_gain_nonblocking(process->model, shape, operation, plan::Peers::other_host));
    made.declined[i] = std::none_of(made.choices.begin(), made.choices.begin() + static_cast<std::ptrdiff_t>(classes),
                                    [&](const auto& c) { return c[i] == Reason::accelerated; });
  }
  // What a message between hosts takes depends on its peer, and the trials do not tell peers apart.
  if (process->settings.trials && process->settings.force == base::Force::automatic)
    made.trials =
        process->pack_trials.of(*program, mixed_, !process->several_hosts, process->model, process->world.get());
  made.ticket = process->settings.tickets == base::Tickets::always || plan::choose_ticket(process->model, shape);
  if (variant_count_.load(std::memory_order_relaxed) < most_variants) {
    variant_count_.fetch_add(1, std::memory_order_relaxed);
    auto* kept = new Variant(made);
    while (!variants_.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
    }
  }
  return made;
}

std::shared_ptr<const pack::gpu::GpuRecipe> KnownType::recipe(std::int64_t count) const {
  const auto* v = gpu_variants_.load(std::memory_order_acquire);
  for (const auto* at = v; at != nullptr; at = at->next)
    if (at->count == count) return at->recipe;
  auto recipe = std::make_shared<const pack::gpu::GpuRecipe>(layout_, count);
  if (gpu_variant_count_.load(std::memory_order_relaxed) < most_variants) {
    gpu_variant_count_.fetch_add(1, std::memory_order_relaxed);
    auto* kept = new GpuVariant{count, recipe, v};
    while (!gpu_variants_.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
    }
  }
  return recipe;
}

void know_predefined_types() {
  for (const MPI_Datatype type : plain_types())
    if (type != MPI_DATATYPE_NULL)
      delete process->types.insert(key_of(type), new KnownType({}, Reason::contiguous, false));
  know_pair<float>(MPI_FLOAT_INT);
  know_pair<double>(MPI_DOUBLE_INT);
  know_pair<long>(MPI_LONG_INT);
  know_pair<short>(MPI_SHORT_INT);
  know_pair<long double>(MPI_LONG_DOUBLE_INT);
}

void learn_predefined_sizes() {
  for (const MPI_Datatype type : plain_types()) {
    auto* known = type != MPI_DATATYPE_NULL ? process->types.find(key_of(type)) : nullptr;
    MPI_Count size = 0;
    if (known && process->own.Type_size_x(type, &size) == MPI_SUCCESS && size > 0) known->set_bytes(size);
  }
}

void know_type(MPI_Datatype type) try {
  if (told_by_attribute() && known_type(type)) return;  // committed before, and not ended since
  if (const auto bytes = bytes_of_run(type)) {
    auto layout = type::layout_of(type::block(0, *bytes));
    layout.true_extent = *bytes;
    return remember(type, std::make_unique<KnownType>(std::move(layout), Reason::contiguous, false));
  }
  const auto spec = decode(type);
  auto layout = type::layout_of(*spec);
  const auto reason = quirk(*spec)          ? Reason::library_quirk
                      : layout.contiguous() ? Reason::contiguous
                                            : Reason::accelerated;
  remember(type, std::make_unique<KnownType>(std::move(layout), reason, type::has_mixed_elements(*spec)));
} catch (const std::exception&) {
  remember(type, std::make_unique<KnownType>(type::Layout{}, Reason::analysis_failed, false));
}

void know_duplicate(MPI_Datatype old, MPI_Datatype copy) {
  if (const auto* known = known_type(old)) {
    auto same = std::make_unique<KnownType>(known->layout(), known->reason(), known->mixed());
    same->set_bytes(known->bytes());  // of a predefined type the layout does not tell
    remember(copy, std::move(same));
  }
}

void forget_types() {
  if (keyval != MPI_KEYVAL_INVALID) process->own.Type_free_keyval(&keyval);
}

int type_commit(Hook, decltype(NextTable::MPI_Type_commit) next, MPI_Datatype* type) {
  const int rc = next(type);
  if (rc == MPI_SUCCESS) know_type(*type);
  return rc;
}

int type_dup(Hook, decltype(NextTable::MPI_Type_dup) next, MPI_Datatype old, MPI_Datatype* copy) {
  const int rc = next(old, copy);
  if (rc == MPI_SUCCESS) know_duplicate(old, *copy);
  return rc;
}

int type_free(Hook, decltype(NextTable::MPI_Type_free) next, MPI_Datatype* type) {
  if (told_by_attribute() || !type) return next(type);
  // Forgotten before the MPI can give the handle to another thread's new type.
  const auto key = key_of(*type);
  std::unique_ptr<KnownType> known(process->types.erase(key));
  const int rc = next(type);
  if (rc != MPI_SUCCESS && known) delete process->types.insert(key, known.release());
  return rc;
}

}  // namespace dunnage::mpi
