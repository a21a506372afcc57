// One nonblocking or persistent reduction: each rank sends its data to those who reduce them, and
// reduces what has come.
//
// All messages begin when the operation begins. So a rank that completes it needs no call of
// another rank, and MPI's rule of progress holds.
#pragma once

#include <span>

#include "mpi/neighbours/messages.hpp"
#include "mpi/nonblocking_reductions/reducer.hpp"
#include "mpi/reductions/together.hpp"

namespace dunnage::mpi {

/// A call. `blocks`: of MPI_Reduce_scatter and MPI_Reduce_scatter_block, what each rank gets.
struct ReductionCall {
  ReductionArguments arguments;
  std::vector<collective::ReductionPart> blocks;
};

/// Not thread-safe.
class ReductionWay final : public ExchangeWay {
 public:
  /// `hood`: of the ranks that exchange data in such a call; it must live until the operation has
  /// begun. `by`: what its messages go by. `rank`, `ranks`: of the communicator. Throws
  /// device::Error, std::bad_alloc.
  ReductionWay(const ReductionCall& call, const KernelOf& kernel, Neighbourhood& hood, std::shared_ptr<MessageComm> by,
               std::uint32_t rank, std::uint32_t ranks);

  // These functions return an MPI error code. If it is not MPI_SUCCESS, nothing is under way.
  int begin() { return messages_.begin(hood_, edges_, false); }
  int init(int tags) { return messages_.init(hood_, edges_, tags); }
  int start() override;
  int wait() override;

  bool test() override;
  int code() const override { return code_; }
  void free() override { messages_.free(); }
  bool orphaned() const override { return messages_.orphaned(); }

 private:
  void end(int code);

  Neighbourhood& hood_;
  Reducer reducer_;
  const Edges edges_;
  Messages messages_;
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
