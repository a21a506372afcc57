// MPI_Waitsome and MPI_Testsome.
#include <algorithm>
#include <vector>

#include "mpi/completion/asked_first.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/completion/own_operations.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"

namespace dunnage::mpi {

namespace {

/// MPI_Waitsome and MPI_Testsome. `waits`: the former.
template <class Next>
int complete_some(Next next, bool waits, int incount, MPI_Request* requests, int* outcount, int* indices,
                  MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(incount, requests, outcount, indices, users));
  const InExchange call;
  if (!waits && may_ask_first() && incount > 0 && requests && outcount && indices) {
    progress_orphans();
    finish_sends();
    Before before(incount, requests);
    StatusesOr statuses(incount, users);
    *outcount = MPI_UNDEFINED;  // a call that fails may leave it
    const int rc = next(incount, requests, outcount, indices, statuses.get());
    if ((rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) || *outcount == MPI_UNDEFINED || *outcount <= 0) return rc;
    std::vector<MPI_Request> ended;
    for (int k = 0; k < *outcount; ++k) ended.push_back(before.data()[indices[k]]);
    const auto told = [&](int i) { return std::find(indices, indices + *outcount, i) != indices + *outcount; };
    forget_freed(before, rc, incount, requests, told);
    OwnOperations operations(before.asking, *outcount, ended.data());
    return operations.none() ? rc : operations.settle_listed(*outcount, rc, statuses.get());
  }
  OwnOperations operations(incount, requests);
  finish_sends();
  StatusesOr statuses(incount, users);
  int rc = MPI_SUCCESS;
  const auto ask = [&] {
    *outcount = MPI_UNDEFINED;  // a call that fails may leave it
    rc = process->own.Testsome(incount, requests, outcount, indices, statuses.get());
    return rc != MPI_SUCCESS || *outcount != 0;
  };
  if (outcount && indices && operations.some_under_way_alone()) {
    bool asked = false;
    const auto ended =
        operations.some_ended(waits, asked, [&] { return ask() && (rc != MPI_SUCCESS || *outcount != MPI_UNDEFINED); });
    if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) return rc;
    if (!asked && users == MPI_STATUSES_IGNORE) operations.ignore_statuses();
    return operations.settle_some(rc, asked ? *outcount : 0, ended, indices, *outcount, statuses.get());
  }
  operations.show();
  if (operations.none() || !outcount || !indices) return next(incount, requests, outcount, indices, users);
  *outcount = MPI_UNDEFINED;  // a call that fails may leave it
  if (!waits) operations.go_on();
  if (!waits || !operations.asked(ask)) {
    if (const auto ahead = operations.ended_ahead()) {
      operations.restore();
      return operations.settle_some(MPI_SUCCESS, 0, {*ahead}, indices, *outcount, statuses.get());
    }
    rc = next(incount, requests, outcount, indices, statuses.get());
  }
  operations.restore();
  if ((rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) || *outcount == MPI_UNDEFINED) return rc;
  return operations.settle_listed(*outcount, rc, statuses.get(), [&](int k) { return indices[k]; });
}

}  // namespace

int waitsome(Hook, decltype(NextTable::MPI_Waitsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return complete_some(next, true, incount, requests, outcount, indices, users);
}

int testsome(Hook, decltype(NextTable::MPI_Testsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return complete_some(next, false, incount, requests, outcount, indices, users);
}

}  // namespace dunnage::mpi
