// MPI_Request_free, MPI_Cancel, and the end of requests of Dunnage's own messages.
#include <memory>
#include <optional>
#include <utility>

#include "device/looks.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/persistent.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/request.hpp"

namespace dunnage::mpi {

std::optional<int> end_without_mpi(MPI_Request& request) {
  auto* const operation = process->requests.find(key_of(request));
  if (!operation || operation->persistent || !operation->stands_alone() || !operation->go_on_alone())
    return std::nullopt;
  device::Looks::forget();
  MPI_Status unwanted;
  const int code = operation->complete(unwanted, false);
  operation->active = false;
  if (!operation->rest()) delete process->requests.erase(operation->key);
  request = MPI_REQUEST_NULL;
  return code;
}

int cancel(Hook, decltype(NextTable::MPI_Cancel) next, MPI_Request* request) {
  auto* operation = request ? process->requests.find(key_of(*request)) : nullptr;
  // The MPI's own request has not been started. A cancelled send may still succeed, and this one
  // does.
  return operation && (operation->ended_ahead() || operation->cancel()) ? MPI_SUCCESS : next(request);
}

int request_free(Hook, decltype(NextTable::MPI_Request_free) next, MPI_Request* request) {
  progress_orphans();
  device::Looks::forget();  // nobody will tell when the operation ends
  std::unique_ptr<Request> operation;
  if (request) {
    forget_persistent(*request);
    const auto alone = no_progress();
    operation.reset(process->requests.erase(key_of(*request)));
  }
  if (!operation || !operation->active) return next(request);
  operation->measure_no_more();  // nobody waits for its end
  operation->show();
  if (operation->inner != MPI_REQUEST_NULL) {  // the MPI's persistent request has not been started
    operation->persistent = false;
    const auto inner = std::exchange(operation->inner, MPI_REQUEST_NULL);
    adopt_orphan(inner, std::move(operation));
    return next(request);
  }
  adopt_orphan(*request, std::move(operation));
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
