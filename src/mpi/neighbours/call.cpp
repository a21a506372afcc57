#include "mpi/neighbours/call.hpp"

#include "mpi/message/attach.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/neighbours/request.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

void ExchangeCall::exchange(const Edges& edges) {
  // Not before: a graph need not be symmetric until it is used.
  if (!std::exchange(hood_->connected, true))
    guarded([&] { hood_->lines = Lines::connect(*hood_, hood_->messages->comm, nullptr); });
  if (wrong(edges, false)) {
    if (hood_->lines) hood_->lines->skip();
    return;
  }
  Messages messages(hook_, *hood_);
  int code = messages.begin(*hood_, edges, true);
  if (code == MPI_SUCCESS) code = messages.wait();
  code_ = raise_failure(comm_, code);
}

void ExchangeCall::begin(const Edges& edges, MPI_Request* request) {
  if (wrong(edges, false) || new_handle(request) != MPI_SUCCESS) return;
  Messages messages(hook_, *hood_);
  const int code = messages.begin(*hood_, edges, false);
  if (code == MPI_SUCCESS) {
    attach(*request, std::make_unique<NeighbourRequest>(std::move(messages), comm_, *request));
  } else {
    end_handle(*request);
    process->own.Wait(request, MPI_STATUS_IGNORE);
  }
  code_ = raise_failure(comm_, code);
}

void ExchangeCall::init(const Edges& edges, MPI_Request* request) {
  const int tags = hood_->next_tags();
  if (wrong(edges, true) || new_persistent_handle(request) != MPI_SUCCESS) {
    guarded([&] { Lines::connect(*hood_, hood_->messages->comm, nullptr); });  // as the neighbours do
    return;
  }
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

bool make_message_comm(Neighbourhood& hood, MPI_Comm comm) {
  const auto& own = process->own;
  int rank = 0;
  // Split, because a duplicate would run the callbacks of the program's attributes.
  MPI_Comm fresh = MPI_COMM_NULL;
  const int made = own.Comm_rank(comm, &rank) == MPI_SUCCESS && own.Comm_split(comm, 0, rank, &fresh) == MPI_SUCCESS &&
                   own.Comm_set_errhandler(fresh, MPI_ERRORS_RETURN) == MPI_SUCCESS;
  // The most tags of any rank: the least of their negatives.
  const int here[] = {made, -hood.tags};
  int everywhere[] = {0, 0};
  if (own.Allreduce(here, everywhere, 2, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !everywhere[0]) {
    if (fresh != MPI_COMM_NULL) own.Comm_free(&fresh);
    hood.possible = false;
    return false;
  }
  hood.tags = -everywhere[1];
  hood.messages = std::make_shared<MessageComm>(fresh);
  return true;
}

}  // namespace dunnage::mpi
