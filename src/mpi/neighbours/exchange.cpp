#include "mpi/neighbours/exchange.hpp"

#include "mpi/message/attach.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/neighbours/request.hpp"

namespace dunnage::mpi {

bool NeighbourCall::asked(const Edges& edges) { return agree(*hood_, comm_, uses_gpu(edges)); }

void NeighbourCall::exchange(const Edges& edges) {
  if (wrong(edges, false)) return;
  Messages messages(hook_, *hood_);
  int code = messages.begin(*hood_, edges);
  if (code == MPI_SUCCESS) code = messages.wait();
  code_ = raise_failure(comm_, code);
}

void NeighbourCall::begin(const Edges& edges, MPI_Request* request) {
  if (wrong(edges, false) || new_handle(request) != MPI_SUCCESS) return;
  Messages messages(hook_, *hood_);
  const int code = messages.begin(*hood_, edges);
  if (code == MPI_SUCCESS) {
    attach(*request, std::make_unique<NeighbourRequest>(std::move(messages), comm_, *request));
  } else {
    end_handle(*request);
    process->own.Wait(request, MPI_STATUS_IGNORE);
  }
  code_ = raise_failure(comm_, code);
}

void NeighbourCall::init(const Edges& edges, MPI_Request* request) {
  const int tags = hood_->next_tags();
  if (wrong(edges, true) || new_persistent_handle(request) != MPI_SUCCESS) return;
  Messages messages(hook_, *hood_);
  const int code = messages.init(*hood_, edges, tags);
  if (code == MPI_SUCCESS) {
    auto operation = std::make_unique<NeighbourRequest>(std::move(messages), comm_);
    operation->keep_messages();
    attach(*request, std::move(operation));
  } else {
    process->own.Request_free(request);
  }
  code_ = raise_failure(comm_, code);
}

void see_topology(MPI_Comm comm) {
  auto* hood = neighbourhood(comm);
  if (hood && hood->possible) agree(*hood, comm, device::driver() != nullptr);
}

}  // namespace dunnage::mpi
