// MPI_Alltoall, MPI_Allgather, MPI_Gather, MPI_Scatter and their kin by Dunnage's own messages: all
// ranks of a communicator are neighbours of each other and of themselves, or of the root.
//
// In host memory the MPIs have better algorithms. So a collective is ours only if one of the ranks
// has device memory in it, which the ranks find out together for each kind and size of collective.
// Then both are tried, if the MPI could be faster (collective/asked_trial.hpp).
//
// Nonblocking calls wait for nobody. They are as the blocking calls of that kind. If those have not
// found device memory, the first rank that has some in a nonblocking call says so in shared memory,
// and from then on such calls are ours (mpi/neighbours/unasked.hpp).
#pragma once

#include <chrono>

#include "collective/asked_trial.hpp"
#include "mpi/neighbours/all_kinds.hpp"
#include "mpi/neighbours/call.hpp"
#include "mpi/neighbours/star_edges.hpp"

namespace dunnage::mpi {

struct AllRanks;

class AllCall : public ExchangeCall {
 public:
  /// Whether any may be ours. Nothing that may differ between ranks is asked.
  static bool possible() {
    const auto how = process->settings.collectives;
    return how != base::Collectives::off && (how == base::Collectives::on || process->everyone || process->alone) &&
           process->initialized.load(std::memory_order_relaxed);
  }

 protected:
  AllCall(Hook hook, MPI_Comm comm, const AllKind& kind);
  /// `waits`: the call waits for all ranks, and returns when it is done.
  std::optional<Edges> agreed(bool waits, base::FunctionRef<Edges()> edges) {
    auto made = ExchangeCall::agreed(next_turn(waits), edges, [this](const Edges& e) { return asked(e); });
    if (measured_ && !AllKind::has_width(kind_)) look_at(made ? *made : edges());
    return made;
  }
  /// In a call that waits for nobody: what its messages go by, or null if it is not ours. `made`:
  /// its data, if they had to be looked at.
  std::shared_ptr<MessageComm> agreed_without_waiting(std::optional<Edges>& made, base::FunctionRef<Edges()> edges);
  /// When the call has been done, by whomever.
  void end_turn();

 private:
  AllCall(Hook hook, MPI_Comm comm, const AllKind& kind, AllRanks* all);
  Turn next_turn(bool waits);
  bool asked(const Edges& edges);
  /// Looks at the size of a call that is timed.
  void look_at(const Edges& edges);

  AllRanks* const all_;
  const std::uint64_t kind_;  // AllKind::number()
  using Clock = std::chrono::steady_clock;
  collective::AskedTrial* measured_ = nullptr;  // that is told how long the call takes
  collective::AskedTrial::Who measured_who_{};
  Clock::time_point begin_;
};

/// A blocking call. `data`: the arguments before the communicator.
class AllExchange : public AllCall {
 public:
  template <class... Data>
  AllExchange(Hook hook, MPI_Comm comm, Data... data) : AllCall(hook, comm, kind_of(hook, data...)) {
    if (const auto edges = agreed(true, [&] { return edges_of(*hood(), hook, data...); })) exchange(*edges);
  }
  /// The MPI has done the call now, if Dunnage has not.
  ~AllExchange() { end_turn(); }
};

/// A nonblocking call.
class NonblockingAllExchange : public AllCall {
 public:
  template <class... Data>
  NonblockingAllExchange(Hook hook, MPI_Comm comm, MPI_Request* request, Data... data)
      : AllCall(hook, comm, kind_of(hook, data...)) {
    const auto edges = [&] { return edges_of(*hood(), hook, data...); };
    std::optional<Edges> made;
    if (const auto messages = agreed_without_waiting(made, edges)) begin(made ? *made : edges(), request, messages);
  }
};

/// An _init call.
class PersistentAllExchange : public AllCall {
 public:
  template <class... Data>
  PersistentAllExchange(Hook hook, MPI_Comm comm, MPI_Info, MPI_Request* request, Data... data)
      : AllCall(hook, comm, kind_of(hook, data...)) {
    if (const auto edges = agreed(false, [&] { return edges_of(*hood(), hook, data...); })) init(*edges, request);
  }
};

}  // namespace dunnage::mpi
