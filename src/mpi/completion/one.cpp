// MPI_Wait and MPI_Test.
#include "mpi/completion/calls.hpp"
#include "mpi/completion/own_operations.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"

namespace dunnage::mpi {

int wait(Hook, decltype(NextTable::MPI_Wait) next, MPI_Request* request, MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(request, users));
  const InExchange call;
  OwnOperations operation(1, request);
  const bool without_mpi = operation.without_mpi();
  if (!without_mpi) {
    finish_sends();
    operation.show();
  }
  if (operation.none()) return next(request, users);
  StatusOr status(users);
  operation.finish(without_mpi);
  if (without_mpi) {
    finish_sends();
    return operation.settle_alone(0, users, status, false);
  }
  const int rc = next(request, status.get());
  operation.restore();
  return operation.settle_one(0, rc, *request, *status.get(), false);
}

int test(Hook, decltype(NextTable::MPI_Test) next, MPI_Request* request, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(request, flag, users));
  const InExchange call;
  OwnOperations operation(1, request);
  const bool without_mpi = flag && operation.without_mpi();
  finish_sends();
  if (!without_mpi) operation.show();
  if (operation.none() || !flag) return next(request, flag, users);
  StatusOr status(users);
  if (without_mpi) {
    *flag = operation.all_ended();
    return *flag ? operation.settle_alone(0, users, status, false) : MPI_SUCCESS;
  }
  operation.go_on();
  const int rc = next(request, flag, status.get());
  operation.restore();
  return rc != MPI_SUCCESS || *flag ? operation.settle_one(0, rc, *request, *status.get(), false) : rc;
}

}  // namespace dunnage::mpi
