// Neighbour collectives by Dunnage's own messages, whose data share launches.
//
// Whether a collective is ours is decided alike by all ranks: by the setting, the communicator's
// topology, and by what its ranks have agreed on (neighbourhood.hpp). Buffers and datatypes may
// differ from rank to rank.
#pragma once

#include "mpi/hooks/communicators.hpp"
#include "mpi/neighbours/call.hpp"

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
  /// In a collective that may wait for all ranks: whether it is ours.
  template <class MakeEdges>
  std::optional<Edges> agreed(MakeEdges&& make_edges) {
    const auto turn = hood() ? next_turn(*hood()) : Turn::theirs;
    if (turn == Turn::theirs) return std::nullopt;
    auto edges = make_edges();
    if (turn == Turn::asked && !asked(edges)) return std::nullopt;
    return edges;
  }
  bool agreed_before() const { return hood() && hood()->messages; }

 private:
  bool asked(const Edges& edges);
};

/// A blocking call. The last argument is the communicator.
class NeighbourExchange : public NeighbourCall {
 public:
  template <class... Args>
  explicit NeighbourExchange(Hook hook, Args... args) : NeighbourCall(hook, comm_of<0>(args...)) {
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 1>(std::tie(args...)); })) exchange(*data);
  }
};

/// A nonblocking call, which waits for nobody. So the ranks have agreed before, or the call is the
/// MPI's. The last arguments are the communicator and the request.
class NonblockingNeighbourExchange : public NeighbourCall {
 public:
  template <class... Args>
  explicit NonblockingNeighbourExchange(Hook hook, Args... args) : NeighbourCall(hook, comm_of<1>(args...)) {
    const auto all = std::tie(args...);
    if (agreed_before()) begin(edges<sizeof...(args) - 2>(all), std::get<sizeof...(args) - 1>(all));
  }
};

/// An _init call. The last arguments are the communicator, the info and the request.
class PersistentNeighbourExchange : public NeighbourCall {
 public:
  template <class... Args>
  explicit PersistentNeighbourExchange(Hook hook, Args... args) : NeighbourCall(hook, comm_of<2>(args...)) {
    const auto all = std::tie(args...);
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 3>(all); }))
      init(*data, std::get<sizeof...(args) - 1>(all));
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
