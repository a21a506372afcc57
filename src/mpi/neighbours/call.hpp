// One collective call that Dunnage does by its own messages.
#pragma once

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "mpi/neighbours/edges.hpp"
#include "mpi/neighbours/exchange_way.hpp"

namespace dunnage::mpi {

/// Calls f with the first `n` elements of a tuple.
template <std::size_t n, class F, class... Args>
auto with_first(const std::tuple<Args...>& all, F&& f) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) { return f(std::get<i>(all)...); }
  (std::make_index_sequence<n>());
}

/// Constructors of derived classes decide whether the call is ours, and do it then.
class ExchangeCall {
 public:
  ExchangeCall(const ExchangeCall&) = delete;
  ExchangeCall& operator=(const ExchangeCall&) = delete;
  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 protected:
  /// `hood`: null if the call is not ours.
  ExchangeCall(Hook hook, MPI_Comm comm, Neighbourhood* hood) : hook_(hook), comm_(comm), hood_(hood) {}
  /// The arguments of the call, of which the first `n` describe the buffers.
  template <std::size_t n, class... Args>
  Edges edges(const std::tuple<Args...>& all) const {
    return with_first<n>(all, [&](auto... data) { return edges_of(*hood_, hook_, data...); });
  }
  Hook hook() const { return hook_; }
  MPI_Comm comm() const { return comm_; }
  Neighbourhood* hood() const { return hood_; }

  // The ranks have agreed before.
  void exchange(const Edges& edges);
  void begin(const Edges& edges, MPI_Request* request);
  void init(const Edges& edges, MPI_Request* request);

 private:
  void exchange_by_rings(const Edges& edges);
  void init_by_rings(const Edges& edges, MPI_Request* request);
  void attach_persistent(std::unique_ptr<ExchangeWay> way, MPI_Request* request);

  const Hook hook_;
  const MPI_Comm comm_;
  Neighbourhood* const hood_;
  std::optional<int> code_;
};

/// Makes the communicator for the messages. All ranks of `comm` call it at a time. Returns whether
/// all have it.
bool make_message_comm(Neighbourhood& hood, MPI_Comm comm);

/// The communicator among the arguments of a call, of which `after` come behind it.
template <std::size_t after, class... Args>
MPI_Comm comm_of(const Args&... args) {
  return std::get<sizeof...(args) - 1 - after>(std::tie(args...));
}

}  // namespace dunnage::mpi
