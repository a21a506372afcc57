#include "calls/types.hpp"

#include <cstddef>
#include <mutex>

#include "type/quirks.hpp"

namespace dunnage::calls {

namespace {

using plan::Reason;

int keyval = MPI_KEYVAL_INVALID;
std::once_flag keyval_once;

// More counts of one type than this are planned anew each time.
constexpr int most_variants = 32;

int forget(MPI_Datatype type, int, void*, void*) {
  delete context->types.erase(key_of(type));
  return MPI_SUCCESS;
}

void remember(MPI_Datatype type, std::unique_ptr<KnownType> known) {
  std::call_once(keyval_once, [] {
    if (context->own.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &keyval, nullptr) != MPI_SUCCESS)
      keyval = MPI_KEYVAL_INVALID;
  });
  // Without the attribute we would not learn of the type's end.
  if (keyval == MPI_KEYVAL_INVALID || context->own.Type_set_attr(type, keyval, nullptr) != MPI_SUCCESS) return;
  delete context->types.insert(key_of(type), known.release());
}

/// Which datatypes this MPI packs differently from the standard. See type/quirks.hpp.
bool quirk(const type::Spec& spec) {
#if defined(OPEN_MPI)
  return type::has_stride_of_minus_one(spec) || type::has_empty_struct_member(spec);
#else
  return type::has_negative_extent(spec);
#endif
}

/// MPICH 4.0 reports MPI_ERR_TRUNCATE where a message of bytes of more than a few KiB is received into a struct: what
/// a sender's Dunnage has packed must never be left to it, whatever the prediction.
bool needs_our_receive([[maybe_unused]] const type::Spec& spec) {
#if defined(OPEN_MPI)
  return false;
#else
  return type::has_struct(spec);
#endif
}

plan::Shape shape_of(const pack::Program& program) {
  return {program.size(), program.blocks(), program.stores() == pack::Stores::streamed};
}

template <class First>
void know_pair(MPI_Datatype type) {
  struct Pair {
    First value;
    int index;
  };
  const auto spec = type::named("pair", {{0, sizeof(First)}, {offsetof(Pair, index), sizeof(int)}}, sizeof(Pair), alignof(Pair));
  auto layout = type::layout_of(*spec);
  const auto reason = layout.contiguous() ? Reason::contiguous : Reason::accelerated;
  delete context->types.insert(key_of(type), new KnownType(std::move(layout), reason, needs_our_receive(*spec)));
}

}  // namespace

KnownType::~KnownType() {
  for (const auto* v = variants_.load(); v != nullptr;) {
    const auto* next = v->next;
    delete v;
    v = next;
  }
}

Variant KnownType::plan(std::int64_t count) const {
  const auto program = std::make_shared<const pack::Program>(layout_, count);
  Variant made{count, program, {}, variants_.load(std::memory_order_acquire)};
  for (std::size_t i = 0; i < made.gain.size(); ++i) {
    const auto operation = static_cast<plan::Operation>(i);
    made.gain[i] = context->settings.force == base::Force::always ||
                   (operation == plan::Operation::receive && always_receive_) ||
                   plan::predict(context->model, shape_of(*program), operation).gain();
  }
  if (variant_count_.fetch_add(1, std::memory_order_relaxed) < most_variants) {
    auto* kept = new Variant(made);
    while (!variants_.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
    }
  }
  return made;
}

void know_predefined_types() {
  const MPI_Datatype plain[] = {
      MPI_BYTE, MPI_PACKED, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_WCHAR, MPI_SHORT, MPI_UNSIGNED_SHORT,
      MPI_INT, MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
      MPI_LONG_DOUBLE, MPI_C_BOOL, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T,
      MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET, MPI_C_COMPLEX, MPI_C_DOUBLE_COMPLEX,
      MPI_C_LONG_DOUBLE_COMPLEX, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
      MPI_LOGICAL, MPI_CHARACTER, MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_2INT};
  for (const auto type : plain)
    if (type != MPI_DATATYPE_NULL) delete context->types.insert(key_of(type), new KnownType({}, Reason::contiguous, false));
  know_pair<float>(MPI_FLOAT_INT);
  know_pair<double>(MPI_DOUBLE_INT);
  know_pair<long>(MPI_LONG_INT);
  know_pair<short>(MPI_SHORT_INT);
  know_pair<long double>(MPI_LONG_DOUBLE_INT);
}

void know_type(MPI_Datatype type) try {
  if (known_type(type)) return;
  const auto spec = decode(type);
  auto layout = type::layout_of(*spec);
  const auto reason = quirk(*spec) ? Reason::library_quirk : layout.contiguous() ? Reason::contiguous : Reason::accelerated;
  remember(type, std::make_unique<KnownType>(std::move(layout), reason, needs_our_receive(*spec)));
} catch (const std::exception&) {
  remember(type, std::make_unique<KnownType>(type::Layout{}, Reason::analysis_failed, false));
}

void know_duplicate(MPI_Datatype old, MPI_Datatype copy) {
  if (const auto* known = known_type(old))
    remember(copy, std::make_unique<KnownType>(known->layout(), known->reason(), known->always_receive()));
}

void forget_types() {
  if (keyval != MPI_KEYVAL_INVALID) context->own.Type_free_keyval(&keyval);
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

}  // namespace dunnage::calls
