// Neighbour collectives by Dunnage's own messages, whose data share launches.
//
// Whether a collective is ours is decided alike by all ranks: by the setting, the communicator's
// topology, and by what its ranks have agreed on (neighbourhood.hpp). Buffers and datatypes may
// differ from rank to rank.
#pragma once

#include "mpi/hooks/communicators.hpp"
#include "mpi/neighbours/call.hpp"
#include "mpi/neighbours/exchange_slots.hpp"

namespace dunnage::mpi {

class NeighbourCall : public ExchangeCall {
 public:
  /// Whether any may be ours. Nothing that may differ between ranks is asked.
  static bool possible() {
    const auto how = process->settings.neighbours;
    return how != base::Neighbours::off && (how == base::Neighbours::on || process->everyone || process->alone) &&
           process->initialized.load(std::memory_order_relaxed);
  }

 protected:
  NeighbourCall(Hook hook, MPI_Comm comm) : ExchangeCall(hook, comm, neighbourhood(comm)) {}
  std::optional<Edges> agreed(base::FunctionRef<Edges()> edges) {
    return ExchangeCall::agreed(hood() ? next_turn(*hood()) : Turn::theirs, edges,
                                [this](const Edges& e) { return asked(e); });
  }
  /// The call's data. The MPI is to refuse a call in place.
  template <class... Data>
  Edges edges_of_call(const void* sendbuf, Data... data) const {
    return sendbuf == MPI_IN_PLACE ? refused() : edges_of(*hood(), hook(), sendbuf, data...);
  }
  /// In a call that waits for nobody: what its messages go by, or null if it is not ours. `made`:
  /// its data, if they had to be looked at.
  std::shared_ptr<MessageComm> agreed_without_waiting(std::optional<Edges>& made, base::FunctionRef<Edges()> edges);
  bool has_slots() const { return hood() && hood()->slots && !hood()->slots->left(); }

 private:
  bool asked(const Edges& edges);
  /// Data that are wrong().
  Edges refused() const;
};

/// A blocking call. `data`: the arguments before the communicator.
class NeighbourExchange : public NeighbourCall {
 public:
  template <class... Data>
  NeighbourExchange(Hook hook, MPI_Comm comm, Data... data) : NeighbourCall(hook, comm) {
    if (const auto edges = agreed([&] { return edges_of_call(data...); })) exchange(*edges);
  }
};

/// A nonblocking call.
class NonblockingNeighbourExchange : public NeighbourCall {
 public:
  template <class... Data>
  NonblockingNeighbourExchange(Hook hook, MPI_Comm comm, MPI_Request* request, Data... data)
      : NeighbourCall(hook, comm) {
    const auto edges = [&] { return edges_of_call(data...); };
    std::optional<Edges> made;
    if (const auto messages = agreed_without_waiting(made, edges))
      begin(made ? *made : edges(), request, messages);
    else if (has_slots())
      begin_by_slots(made ? *made : edges(), request);
  }
};

/// An _init call.
class PersistentNeighbourExchange : public NeighbourCall {
 public:
  template <class... Data>
  PersistentNeighbourExchange(Hook hook, MPI_Comm comm, MPI_Info, MPI_Request* request, Data... data)
      : NeighbourCall(hook, comm) {
    if (const auto edges = agreed([&] { return edges_of_call(data...); })) init(*edges, request);
  }
};

/// A communicator with a topology has been made. Its ranks agree here, so that its first
/// nonblocking collective can be ours.
void see_topology(MPI_Comm comm);

/// The calls that make communicators with a topology. The last argument is the new communicator.
template <class Fn, class... Args>
int topology(Hook hook, Fn next, Args... args) {
  const int rc = communicator(hook, next, args...);
  const auto* made = std::get<sizeof...(args) - 1>(std::tie(args...));
  if (rc == MPI_SUCCESS && made && *made != MPI_COMM_NULL && NeighbourCall::possible()) see_topology(*made);
  return rc;
}

}  // namespace dunnage::mpi
