// MPI_Waitany and MPI_Testany.
#include "mpi/completion/asked_first.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/completion/own_operations.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"

namespace dunnage::mpi {

int waitany(Hook, decltype(NextTable::MPI_Waitany) next, int count, MPI_Request* requests, int* index,
            MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, index, users));
  const InExchange call;
  OwnOperations operations(count, requests);
  finish_sends();
  StatusOr status(users);
  int rc = MPI_SUCCESS, found = 0;
  const auto ask = [&] {
    rc = process->own.Testany(count, requests, index, &found, status.get());
    return rc != MPI_SUCCESS || (found && *index != MPI_UNDEFINED);
  };
  if (index && operations.some_under_way_alone()) return operations.settle_any(true, index, users, status, rc, ask);
  operations.show();
  if (operations.none() || !index) return next(count, requests, index, users);
  *index = MPI_UNDEFINED;  // a call that fails may leave it
  if (!operations.asked([&] { return ask() || found; })) {
    if (const auto ahead = operations.ended_ahead()) {
      operations.restore();
      *index = *ahead;
      return operations.settle_alone(*index, users, status, true);
    }
    rc = next(count, requests, index, status.get());
  }
  operations.restore();
  return *index >= 0 && *index < count ? operations.settle_one(*index, rc, requests[*index], *status.get(), true) : rc;
}

int testany(Hook, decltype(NextTable::MPI_Testany) next, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, index, flag, users));
  const InExchange call;
  if (may_ask_first() && count > 0 && requests && index && flag) {
    progress_orphans();
    finish_sends();
    Before before(count, requests);
    StatusOr status(users);
    *index = MPI_UNDEFINED;  // a call that fails may leave them
    *flag = 0;
    const int rc = next(count, requests, index, flag, status.get());
    if (!*flag || *index < 0 || *index >= count) return rc;
    forget_freed(before, rc, count, requests, [&](int i) { return i == *index; });
    OwnOperations operation(before.asking, 1, before.data() + *index);
    return operation.none() ? rc : operation.settle_one(0, rc, requests[*index], *status.get(), true);
  }
  OwnOperations operations(count, requests);
  finish_sends();
  StatusOr status(users);
  if (index && flag && operations.some_under_way_alone()) {
    int rc = MPI_SUCCESS;
    const int result = operations.settle_any(false, index, users, status, rc, [&] {
      rc = next(count, requests, index, flag, status.get());
      return rc != MPI_SUCCESS || (*flag && *index != MPI_UNDEFINED);
    });
    *flag = *index != MPI_UNDEFINED;
    return result;
  }
  operations.show();
  if (operations.none() || !index || !flag) return next(count, requests, index, flag, users);
  operations.go_on();
  *index = MPI_UNDEFINED;  // a call that fails may leave them
  *flag = 0;
  const int rc = next(count, requests, index, flag, status.get());
  operations.restore();
  return *flag && *index >= 0 && *index < count
             ? operations.settle_one(*index, rc, requests[*index], *status.get(), true)
             : rc;
}

}  // namespace dunnage::mpi
