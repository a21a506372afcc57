// MPI_Alltoall, MPI_Allgather and their kin by Dunnage's own messages: all ranks of a communicator
// are neighbours of each other, and of themselves.
//
// In host memory the MPIs have better algorithms. So a collective is ours only if one of the ranks
// has device memory in it, which the ranks find out together for each kind and size of collective.
#pragma once

#include "mpi/neighbours/call.hpp"

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
  AllCall(Hook hook, MPI_Comm comm, std::uint64_t kind);
  /// What all ranks know of a call, as a number: which collective it is, and the size if all ranks
  /// know it. `sendbuf` may be MPI_IN_PLACE.
  template <class... Args>
  static std::uint64_t kind_of(Hook hook, const void* sendbuf, const Args&... args) {
    using Types = std::tuple<Args...>;
    if (sendbuf == MPI_IN_PLACE && !gathers(hook)) return no_kind;
    const auto arguments = std::tie(args...);
    if constexpr (std::is_pointer_v<std::tuple_element_t<0, Types>>)
      return kind(std::is_same_v<std::tuple_element_t<2, Types>, MPI_Datatype> ? Collective::alltoallv
                                                                               : Collective::alltoallw);
    else if constexpr (std::is_pointer_v<std::tuple_element_t<3, Types>>)
      return kind(Collective::allgatherv);
    else
      return kind(gathers(hook) ? Collective::allgather : Collective::alltoall, std::get<3>(arguments),
                  std::get<4>(arguments));
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
  static constexpr std::uint64_t no_kind = ~std::uint64_t{0};
  enum class Collective : std::uint64_t { alltoall, alltoallv, alltoallw, allgather, allgatherv };
  static std::uint64_t kind(Collective collective, std::int64_t count = 0, MPI_Datatype type = MPI_DATATYPE_NULL);
  AllCall(Hook hook, MPI_Comm comm, std::uint64_t kind, AllRanks* all);
  Turn next_turn();
  bool asked(const Edges& edges);

  AllRanks* const all_;
  const std::uint64_t kind_;
};

/// A blocking call. The last argument is the communicator.
class AllExchange : public AllCall {
 public:
  template <class... Args>
  explicit AllExchange(Hook hook, Args... args) : AllCall(hook, comm_of<0>(args...), kind_of(hook, args...)) {
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 1>(std::tie(args...)); })) exchange(*data);
  }
};

/// A nonblocking call, which waits for nobody. So the ranks have agreed before, or the call is the
/// MPI's. The last arguments are the communicator and the request.
class NonblockingAllExchange : public AllCall {
 public:
  template <class... Args>
  explicit NonblockingAllExchange(Hook hook, Args... args)
      : AllCall(hook, comm_of<1>(args...), kind_of(hook, args...)) {
    const auto all = std::tie(args...);
    if (agreed_before()) begin(edges<sizeof...(args) - 2>(all), std::get<sizeof...(args) - 1>(all));
  }
};

/// An _init call. The last arguments are the communicator, the info and the request.
class PersistentAllExchange : public AllCall {
 public:
  template <class... Args>
  explicit PersistentAllExchange(Hook hook, Args... args) : AllCall(hook, comm_of<2>(args...), kind_of(hook, args...)) {
    const auto all = std::tie(args...);
    if (const auto data = agreed([&] { return edges<sizeof...(args) - 3>(all); }))
      init(*data, std::get<sizeof...(args) - 1>(all));
  }
};

}  // namespace dunnage::mpi
