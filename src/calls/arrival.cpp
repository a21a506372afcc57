#include "calls/arrival.hpp"

namespace dunnage::calls {

using Kind = engine::Operation::Kind;

namespace {

/// What a receive brought. Nothing where that was the MPI's own work.
int arrive_message(engine::Operation& operation, MPI_Status& status) {
  auto bytes = received_bytes(status);
  if (context->world && may_be_ticket(bytes)) {
    auto staged = operation.kind == Kind::receive ? Landing::staged(operation.parcel, operation.content) : Landing();
    auto& landing = operation.kind == Kind::receive ? staged : *static_cast<Landing*>(operation.kept.get());
    if (const auto rc = redeem(landing, bytes, status)) {
      operation.bytes = bytes;
      return *rc;
    }
  }
  if (operation.kind != Kind::receive) return MPI_SUCCESS;
  tell_scatters(bytes, operation.sender);
  return deliver(operation.parcel, operation.content, bytes);
}

}  // namespace

int arrive(engine::Operation& operation, MPI_Status& status) {
  if (auto* ticket = ticket_of(operation); ticket && ticket->outgoing) {
    int cancelled = 0;
    context->own.Test_cancelled(&status, &cancelled);
    int rc = std::exchange(ticket->error, MPI_SUCCESS);
    if (cancelled) ticket->outgoing.cancel();
#ifdef DUNNAGE_CUDA
    else if (ticket->gpu)
      rc = gpu_finish(ticket->outgoing, ticket->gpu);
#endif
    ticket->outgoing = {};
    ticket->parcel = {};
    ticket->memory.reset();
    if (rc != MPI_SUCCESS) return rc;
  } else if (ticket && ticket->error != MPI_SUCCESS) {
    return std::exchange(ticket->error, MPI_SUCCESS);  // found when its request was looked at
  }
  if (!operation.brings()) return MPI_SUCCESS;
  if (operation.delivered) {
    if (operation.bytes >= 0) context->own.Status_set_elements_x(&status, MPI_BYTE, operation.bytes);
    return operation.error;
  }
  operation.delivered = true;
  if (operation.receives()) operation.error = arrive_message(operation, status);
  if (operation.copies && operation.error == MPI_SUCCESS) operation.error = operation.copies->deliver();
  return operation.error;
}

bool arrive_if_there(engine::Operation& operation, MPI_Request request, FetchBatch& batch, int index) {
  int done = 0;
  MPI_Status status;
  if (context->own.Request_get_status(request, &done, &status) != MPI_SUCCESS) return true;
  if (!done) return false;
  batch.about(index);
  arrive(operation, status);
  return true;
}

}  // namespace dunnage::calls
