// One collective call that Dunnage does by its own messages.
#pragma once

#include <memory>
#include <optional>

#include "base/function_ref.hpp"
#include "mpi/neighbours/edges.hpp"
#include "mpi/neighbours/exchange_way.hpp"

namespace dunnage::mpi {

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
  Hook hook() const { return hook_; }
  MPI_Comm comm() const { return comm_; }
  Neighbourhood* hood() const { return hood_; }

  /// In a collective that may wait for all ranks: its data, if it is ours. `asked` asks the ranks.
  std::optional<Edges> agreed(Turn turn, base::FunctionRef<Edges()> edges,
                              base::FunctionRef<bool(const Edges&)> asked) const;

  /// In a collective of a kind that waits for nobody: what its messages go by, or null if it is not
  /// ours. `made`: its data, if they had to be looked at.
  std::shared_ptr<MessageComm> agreed_without_waiting(UnaskedKind& kind, std::optional<Edges>& made,
                                                      base::FunctionRef<Edges()> edges) const;

  // The ranks have agreed before.
  void exchange(const Edges& edges);
  /// `by`: what the messages go by.
  void begin(const Edges& edges, MPI_Request* request, const std::shared_ptr<MessageComm>& by);
  /// In host memory, if it is ours.
  void begin_by_slots(const Edges& edges, MPI_Request* request);
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

}  // namespace dunnage::mpi
