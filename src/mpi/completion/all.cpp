// MPI_Waitall and MPI_Testall.
#include "mpi/completion/asked_first.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/completion/own_operations.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {

int waitall(Hook, decltype(NextTable::MPI_Waitall) next, int count, MPI_Request* requests, MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, users));
  const InExchange call;
  // What this call receives goes with what other messages bring, so sends are finished after it.
  OwnOperations operations(count, requests);
  if (operations.status_only() && !gpu_announcements()) {
    finish_sends();
    StatusesOr statuses(count, users);
    int rc = next(count, requests, statuses.get());
    if (rc == MPI_SUCCESS && users == MPI_STATUSES_IGNORE) rc = operations.raise_what_statuses_tell(statuses.get());
    return operations.settle_listed(count, rc, statuses.get());
  }
  const bool without_mpi = operations.without_mpi();
  if (!without_mpi) operations.show_others();
  const bool come = !operations.none() && operations.receive_as_they_come();
  const auto finish_others = [&] {
    if (!operations.none()) operations.finish(without_mpi);
    finish_sends();
  };
  // The receives are settled while a device fetches their data.
  if (without_mpi && come) return operations.settle_all_alone(count, users, finish_others);
  operations.finish_arriving();
  finish_others();
  if (operations.none()) return next(count, requests, users);
  if (without_mpi) return operations.settle_all_alone(count, users);
  StatusesOr statuses(count, users);
  operations.hide();
  int rc = next(count, requests, statuses.get());
  operations.show_hidden(rc, statuses.get());
  operations.restore();
  if (rc == MPI_SUCCESS && users == MPI_STATUSES_IGNORE) rc = operations.raise_what_statuses_tell(statuses.get());
  return operations.settle_listed(count, rc, statuses.get());
}

int testall(Hook, decltype(NextTable::MPI_Testall) next, int count, MPI_Request* requests, int* flag,
            MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, flag, users));
  const InExchange call;
  if (may_ask_first() && count > 0 && requests && flag) {
    progress_orphans();
    finish_sends();
    Before before(count, requests);
    StatusesOr statuses(count, users);
    *flag = 0;  // a call that fails may leave it
    const int rc = next(count, requests, flag, statuses.get());
    if (!*flag && rc != MPI_ERR_IN_STATUS) return rc;
    forget_freed(before, rc, count, requests, [&](int i) { return statuses.get()[i].MPI_ERROR != MPI_ERR_PENDING; });
    OwnOperations operations(before.asking, count, before.data());
    return operations.none() ? rc : operations.settle_listed(count, rc, statuses.get());
  }
  OwnOperations operations(count, requests);
  finish_sends();
  const bool without_mpi = operations.without_mpi();
  operations.show_others();
  if (operations.none() || !flag) {
    operations.show();
    return next(count, requests, flag, users);
  }
  *flag = operations.all_ended();
  if (!*flag) {
    operations.restore();
    return MPI_SUCCESS;
  }
  if (without_mpi) return operations.settle_all_alone(count, users);
  StatusesOr statuses(count, users);
  *flag = 0;  // a call that fails may leave it
  operations.hide();
  const int rc = next(count, requests, flag, statuses.get());
  operations.show_hidden(rc, statuses.get());
  operations.restore();
  return *flag || rc == MPI_ERR_IN_STATUS ? operations.settle_listed(count, rc, statuses.get()) : rc;
}

}  // namespace dunnage::mpi
