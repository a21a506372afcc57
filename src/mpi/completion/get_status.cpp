// MPI_Request_get_status and its kin, which complete nothing.
#include <algorithm>
#include <vector>

#include "device/looks.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/completion/own_operations.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/unfinished.hpp"

namespace dunnage::mpi {

namespace {

/// The request that the MPI is to be asked about. Moves an operation of several messages on.
MPI_Request shown(MPI_Request request) {
  device::Looks::forget();  // the operation may have ended
  auto* operation = process->requests.find(key_of(request));
  if (operation && operation->active) operation->show();
  if (operation && operation->several() && operation->active) operation->go_on();
  return operation && operation->inner != MPI_REQUEST_NULL ? operation->inner : request;
}
std::vector<MPI_Request> shown(int count, const MPI_Request* requests) {
  std::vector<MPI_Request> all(requests, requests + std::max(count, 0));
  for (auto& request : all) request = shown(request);
  return all;
}

/// The places of requests that are complete, and that the MPI takes for inactive.
std::vector<int> ended_ahead(int count, const MPI_Request* requests) {
  std::vector<int> found;
  if (!process->behaviour.asking_ends_persistent) return found;
  for (int i = 0; i < count; ++i) {
    const auto* operation = process->requests.find(key_of(requests[i]));
    if (operation && operation->active && operation->ended_ahead()) found.push_back(i);
  }
  return found;
}

/// Complete means usable: the data must be in place though the request lives on. The call that ends
/// the request tells what went wrong.
void bring(MPI_Request request, MPI_Status& status) {
  auto* operation = process->requests.find(key_of(request));
  if (!operation || !operation->active) return;
  if (operation->brings()) {
    const auto alone = no_progress();
    operation->complete(status);
  } else if (operation->waits_for_receiver()) {
    operation->keep_error(operation->complete(status));
  }
}

}  // namespace

int request_get_status(Hook, decltype(NextTable::MPI_Request_get_status) next, MPI_Request request, int* flag,
                       MPI_Status* users) {
  if (nothing_of_ours()) return next(request, flag, users);
  progress_orphans();
  finish_sends();
  StatusOr status(users);
  const int rc = next(shown(request), flag, status.get());
  if (rc == MPI_SUCCESS && *flag) bring(request, *status.get());
  return rc;
}

int request_get_status_all(Hook, decltype(NextTable::MPI_Request_get_status_all) next, int count,
                           const MPI_Request* requests, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, flag, users);
  progress_orphans();
  finish_sends();
  StatusesOr statuses(count, users);
  const int rc = next(count, shown(count, requests).data(), flag, statuses.get());
  for (int i = 0; rc == MPI_SUCCESS && *flag && i < count; ++i) bring(requests[i], statuses.get()[i]);
  return rc;
}

int request_get_status_any(Hook, decltype(NextTable::MPI_Request_get_status_any) next, int count,
                           const MPI_Request* requests, int* index, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, flag, users);
  progress_orphans();
  finish_sends();
  StatusOr status(users);
  if (const auto ahead = ended_ahead(count, requests); !ahead.empty()) {
    *flag = 1;
    *index = ahead.front();
    set_empty(*status.get());
    bring(requests[*index], *status.get());
    return MPI_SUCCESS;
  }
  const int rc = next(count, shown(count, requests).data(), index, flag, status.get());
  if (rc == MPI_SUCCESS && *flag && *index >= 0 && *index < count) bring(requests[*index], *status.get());
  return rc;
}

int request_get_status_some(Hook, decltype(NextTable::MPI_Request_get_status_some) next, int incount,
                            const MPI_Request* requests, int* outcount, int* indices, MPI_Status* users) {
  if (nothing_of_ours()) return next(incount, requests, outcount, indices, users);
  progress_orphans();
  finish_sends();
  StatusesOr statuses(incount, users);
  if (const auto ahead = ended_ahead(incount, requests); !ahead.empty()) {
    std::copy(ahead.begin(), ahead.end(), indices);
    *outcount = static_cast<int>(ahead.size());
    for (int k = 0; k < *outcount; ++k) {
      set_empty(statuses.get()[k]);
      bring(requests[indices[k]], statuses.get()[k]);
    }
    return MPI_SUCCESS;
  }
  const int rc = next(incount, shown(incount, requests).data(), outcount, indices, statuses.get());
  if (rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) bring(requests[indices[k]], statuses.get()[k]);
  return rc;
}

}  // namespace dunnage::mpi
