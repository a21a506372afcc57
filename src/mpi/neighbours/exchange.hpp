// Neighbour collectives by Dunnage's own messages, whose data share launches.
//
// Whether a collective is ours is decided alike by all ranks: by the setting, the communicator's
// topology, and by what its ranks have agreed on (neighbourhood.hpp). Buffers and datatypes may
// differ from rank to rank.
#pragma once

#include <optional>
#include <tuple>
#include <utility>

#include "mpi/neighbours/edges.hpp"

namespace dunnage::mpi {

/// Whether any may be ours. Nothing that may differ between ranks is asked.
inline bool neighbours_possible() {
  const auto how = process->settings.neighbours;
  return how != base::Neighbours::off && (how == base::Neighbours::on || process->everyone || process->alone) &&
         process->initialized.load(std::memory_order_relaxed);
}

/// Calls f with the first `n` elements of a tuple.
template <std::size_t n, class F, class... Args>
auto with_first(const std::tuple<Args...>& all, F&& f) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) { return f(std::get<i>(all)...); }
  (std::make_index_sequence<n>());
}

/// One call. Constructors of derived classes do it, if it is ours.
class NeighbourCall {
 public:
  static bool possible() { return neighbours_possible(); }
  NeighbourCall(const NeighbourCall&) = delete;
  NeighbourCall& operator=(const NeighbourCall&) = delete;
  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 protected:
  NeighbourCall(Hook hook, MPI_Comm comm) : hook_(hook), comm_(comm), hood_(neighbourhood(comm)) {}
  /// The arguments of the call, of which the first `n` describe the buffers.
  template <std::size_t n, class... Args>
  Edges edges(const std::tuple<Args...>& all) const {
    return with_first<n>(all, [&](auto... data) { return edges_of(*hood_, hook_, data...); });
  }
  /// In a collective that may wait for all ranks: whether it is ours.
  template <class MakeEdges>
  std::optional<Edges> agreed(MakeEdges&& make_edges) {
    const auto turn = hood_ ? next_turn(*hood_) : Turn::theirs;
    if (turn == Turn::theirs) return std::nullopt;
    auto edges = make_edges();
    if (turn == Turn::asked && !asked(edges)) return std::nullopt;
    return edges;
  }
  bool agreed_before() const { return hood_ && hood_->messages; }

  void exchange(const Edges& edges);
  void begin(const Edges& edges, MPI_Request* request);
  void init(const Edges& edges, MPI_Request* request);

 private:
  bool asked(const Edges& edges);

  const Hook hook_;
  const MPI_Comm comm_;
  Neighbourhood* const hood_;
  std::optional<int> code_;
};

/// A blocking call. The last argument is the communicator.
class NeighbourExchange : public NeighbourCall {
 public:
  template <class... Args>
  explicit NeighbourExchange(Hook hook, Args... args)
      : NeighbourCall(hook, std::get<sizeof...(args) - 1>(std::tuple(args...))) {
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 1>(std::tuple(args...)); })) exchange(*data);
  }
};

/// A nonblocking call, which waits for nobody. So the ranks have agreed before, or the call is the
/// MPI's. The last arguments are the communicator and the request.
class NonblockingNeighbourExchange : public NeighbourCall {
 public:
  template <class... Args>
  explicit NonblockingNeighbourExchange(Hook hook, Args... args)
      : NeighbourCall(hook, std::get<sizeof...(args) - 2>(std::tuple(args...))) {
    if (agreed_before())
      begin(edges<sizeof...(args) - 2>(std::tuple(args...)), std::get<sizeof...(args) - 1>(std::tuple(args...)));
  }
};

/// An _init call. The last arguments are the communicator, the info and the request.
class PersistentNeighbourExchange : public NeighbourCall {
 public:
  template <class... Args>
  explicit PersistentNeighbourExchange(Hook hook, Args... args)
      : NeighbourCall(hook, std::get<sizeof...(args) - 3>(std::tuple(args...))) {
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 3>(std::tuple(args...)); }))
      init(*data, std::get<sizeof...(args) - 1>(std::tuple(args...)));
  }
};

/// A communicator with a topology has been made. Its ranks agree here, so that its first
/// nonblocking collective can be ours.
void see_topology(MPI_Comm comm);

/// The calls that make communicators with a topology. The last argument is the new communicator.
template <class Fn, class... Args>
int topology(Hook, Fn next, Args... args) {
  const int rc = next(args...);
  const auto* made = std::get<sizeof...(args) - 1>(std::tuple(args...));
  if (rc == MPI_SUCCESS && made && *made != MPI_COMM_NULL && neighbours_possible()) see_topology(*made);
  return rc;
}

}  // namespace dunnage::mpi
