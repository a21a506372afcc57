// MPI_Alltoall, MPI_Allgather, MPI_Gather, MPI_Scatter and their kin by Dunnage's own messages: all
// ranks of a communicator are neighbours of each other and of themselves, or of the root.
//
// In host memory the MPIs have better algorithms. So a collective is ours only if one of the ranks
// has device memory in it, which the ranks find out together for each kind and size of collective.
#pragma once

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
  /// The kind of a call, of whose arguments the first `n` describe the buffers.
  template <std::size_t n, class... Args>
  static AllKind kind(Hook hook, const Args&... args) {
    return with_first<n>(std::tie(args...), [&](auto... data) { return kind_of(hook, data...); });
  }
  /// In a collective that may wait for all ranks: whether it is ours.
  template <class MakeEdges>
  std::optional<Edges> agreed(MakeEdges&& make_edges) {
    const auto turn = hood() ? next_turn() : Turn::theirs;
    if (turn == Turn::theirs) return std::nullopt;
    auto edges = make_edges();
    if (turn == Turn::asked && !asked(edges)) return std::nullopt;
    return edges;
  }
  bool agreed_before() const;

 private:
  AllCall(Hook hook, MPI_Comm comm, const AllKind& kind, AllRanks* all);
  Turn next_turn();
  bool asked(const Edges& edges);

  AllRanks* const all_;
  const std::uint64_t kind_;  // AllKind::number()
};

/// A blocking call. The last argument is the communicator.
class AllExchange : public AllCall {
 public:
  template <class... Args>
  explicit AllExchange(Hook hook, Args... args)
      : AllCall(hook, comm_of<0>(args...), kind<sizeof...(args) - 1>(hook, args...)) {
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 1>(std::tie(args...)); })) exchange(*data);
  }
};

/// A nonblocking call, which waits for nobody. So the ranks have agreed before, or the call is the
/// MPI's. The last arguments are the communicator and the request.
class NonblockingAllExchange : public AllCall {
 public:
  template <class... Args>
  explicit NonblockingAllExchange(Hook hook, Args... args)
      : AllCall(hook, comm_of<1>(args...), kind<sizeof...(args) - 2>(hook, args...)) {
    const auto all = std::tie(args...);
    if (agreed_before()) begin(edges<sizeof...(args) - 2>(all), std::get<sizeof...(args) - 1>(all));
  }
};

/// An _init call. The last arguments are the communicator, the info and the request.
class PersistentAllExchange : public AllCall {
 public:
  template <class... Args>
  explicit PersistentAllExchange(Hook hook, Args... args)
      : AllCall(hook, comm_of<2>(args...), kind<sizeof...(args) - 3>(hook, args...)) {
    const auto all = std::tie(args...);
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 3>(all); }))
      init(*data, std::get<sizeof...(args) - 1>(all));
  }
};

}  // namespace dunnage::mpi
