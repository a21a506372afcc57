// What we know of the program's datatypes.
//
// A type becomes known at MPI_Type_commit (or as a duplicate of a known one) and is forgotten when
// it is freed: an attribute on the type tells us, or on MPICH the call itself.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>

#include "mpi/process/process.hpp"
#include "pack/cpu/program.hpp"
#include "type/layout.hpp"

namespace dunnage::pack::gpu {
struct GpuRecipe;
}

namespace dunnage::mpi {

/// The plan for one count of one type. What calls ask for that are left to the MPI stands in the
/// first cache line.
struct alignas(64) Variant {
  std::int64_t count;
  const Variant* next;
  bool ticket;                                            // whether a message is sent by ticket where that is possible
  std::array<bool, plan::operations> declined;            // by the model, whoever the peer is
  std::array<bool, plan::operations> leaves_nonblocking;  // nonblocking messages gain too little
  using Choices = std::array<plan::Reason, plan::operations>;  // by plan::Operation; as DUNNAGE_FORCE has it
  std::array<Choices, plan::peer_classes> choices;             // by plan::Peers
  PackTrials::Trials trials;                                   // by plan::Operation
  std::shared_ptr<const pack::Program> program;
  plan::Reason choice(plan::Operation operation, plan::Peers peers) const {
    return choices[static_cast<std::size_t>(peers)][static_cast<std::size_t>(operation)];
  }
  bool declines(plan::Operation operation) const { return declined[static_cast<std::size_t>(operation)]; }
  /// Finds out who packs, in the program's own calls. Null without trials.
  plan::PackTrial* trial(plan::Operation operation) const { return trials.calls[static_cast<std::size_t>(operation)]; }
  /// Finds it out for nonblocking messages, in exchanges.
  plan::ExchangeTrial* exchange_trial(plan::Operation operation) const {
    return trials.exchanges[static_cast<std::size_t>(operation)];
  }
};

/// One known datatype. Immutable but for its list of variants, which only grows. What calls ask for
/// that are left to the MPI stands in the first cache line.
class alignas(64) KnownType {
  struct GpuVariant;

 public:
  /// `mixed`: elements of more than one basic type.
  KnownType(type::Layout layout, plan::Reason reason, bool mixed)
      : reason_(reason), mixed_(mixed), bytes_(layout.size), number_(next_number()), layout_(std::move(layout)) {}
  KnownType(const KnownType&) = delete;
  KnownType& operator=(const KnownType&) = delete;
  ~KnownType();

  /// A number that no other known type has, now or later.
  std::uint64_t number() const { return number_; }
  /// `accelerated` where our engine may pack it, else why not.
  plan::Reason reason() const { return reason_; }
  const type::Layout& layout() const { return layout_; }
  bool mixed() const { return mixed_; }
  /// Packed bytes of one element; 0 for a predefined type before learn_predefined_sizes().
  std::int64_t bytes() const { return bytes_; }
  void set_bytes(std::int64_t bytes);
  /// The plan for `count` elements if there is one yet. Lock-free.
  const Variant* find(std::int64_t count) const {
    const auto* v = variants_.load(std::memory_order_acquire);
    while (v != nullptr && v->count != count) v = v->next;
    return v;
  }
  /// A new plan for `count` elements, kept for the next time while there are not too many.
  Variant plan(std::int64_t count) const;
  /// The program for `count` elements, whoever is to run it.
  std::shared_ptr<const pack::Program> program(std::int64_t count) const {
    const auto* variant = find(count);
    return variant ? variant->program : plan(count).program;
  }
  /// `count` elements as kernels take them. Lock-free once there is one.
  std::shared_ptr<const pack::gpu::GpuRecipe> recipe(std::int64_t count) const;

 private:
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  plan::Reason reason_;
  bool mixed_;
  std::int64_t bytes_;
  mutable std::atomic<const Variant*> variants_{nullptr};
  const std::uint64_t number_;
  type::Layout layout_;
  mutable std::atomic<int> variant_count_{0};
  mutable std::atomic<const GpuVariant*> gpu_variants_{nullptr};
  mutable std::atomic<int> gpu_variant_count_{0};
};

/// Enters the predefined types. Needs no initialised MPI.
void know_predefined_types();
/// After MPI_Init, before another thread can look at types.
void learn_predefined_sizes();
/// The type, or null where it was not seen being committed.
[[gnu::always_inline]] inline const KnownType* known_type(MPI_Datatype type) {
  return process->types.find(key_of(type));
}

/// Whether messages of the type may travel as packed bytes, with the MPI's own types at the other
/// end.
inline bool may_go_packed(const KnownType& type) {
  const auto reason = type.reason();
  return (reason == plan::Reason::contiguous || reason == plan::Reason::accelerated) &&
         (!type.mixed() || process->model.trusted_mixed);
}

/// How many bytes a message has, for the report. 0 if no report is wanted.
inline std::int64_t reported_bytes(MPI_Datatype type, std::int64_t count) {
  if (!process->reporting) return 0;
  const auto* known = known_type(type);
  MPI_Count size = known ? known->bytes() : 0;
  if (size == 0 && process->own.Type_size_x(type, &size) != MPI_SUCCESS) return 0;
  return count * static_cast<std::int64_t>(size);
}
/// Analyses a committed type. Errors inside leave it unknown: it is declined.
void know_type(MPI_Datatype type);
void know_duplicate(MPI_Datatype old, MPI_Datatype copy);
/// Frees the attribute key, before MPI_Finalize.
void forget_types();

/// The constructor tree of a type, as the MPI tells it. Throws type::SpecError.
/// A predefined type has its handle as its name: "basic 127507", "pair 23".
type::SpecPtr decode(MPI_Datatype type);
/// The bytes of a type that MPI_Type_contiguous has made from a predefined type without gaps.
/// Programs make such types by the thousand, and they need no more analysis. Throws
/// type::SpecError.
std::optional<std::int64_t> bytes_of_run(MPI_Datatype type);

int type_commit(Hook, decltype(NextTable::MPI_Type_commit) next, MPI_Datatype* type);
int type_free(Hook, decltype(NextTable::MPI_Type_free) next, MPI_Datatype* type);
int type_dup(Hook, decltype(NextTable::MPI_Type_dup) next, MPI_Datatype old, MPI_Datatype* copy);

}  // namespace dunnage::mpi
