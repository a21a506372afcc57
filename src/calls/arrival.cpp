#include "calls/arrival.hpp"

#include "calls/orphans.hpp"

namespace dunnage::calls {

using Kind = engine::Operation::Kind;

int arrive(engine::Operation& operation, MPI_Status& status, bool waits) {
  if (auto* ticket = ticket_of(operation); ticket && (ticket->outgoing || ticket->stream)) {
    int cancelled = 0;
    context->own.Test_cancelled(&status, &cancelled);
    if (cancelled && ticket->outgoing) ticket->outgoing.cancel();
    if (cancelled && ticket->stream) ticket->stream->cancel();
    ticket->outgoing = {};
    ticket->parcel = {};
    if (ticket->stream) finish_stream(std::move(ticket->stream), waits && !cancelled);
  }
  if (!operation.receives()) return MPI_SUCCESS;
  if (operation.delivered) {
    if (operation.bytes >= 0) context->own.Status_set_elements_x(&status, MPI_BYTE, operation.bytes);
    return operation.error;
  }
  operation.delivered = true;
  auto bytes = received_bytes(status);
  if (context->world && transport::ticket_length(bytes)) {
    auto staged = operation.kind == Kind::receive ? Landing::staged(operation.parcel, operation.program, operation.user) : Landing();
    auto& landing = operation.kind == Kind::receive ? staged : *static_cast<Landing*>(operation.kept.get());
    if (const auto rc = redeem(landing, bytes, status)) {
      operation.bytes = bytes;
      return operation.error = *rc;
    }
  }
  if (operation.kind == Kind::receive) {
    tell_scatters(bytes, operation.sender);
    operation.parcel.deliver(*operation.program, operation.user, bytes);
  }
  return MPI_SUCCESS;
}

void fetch_if_arrived(engine::Operation& operation, MPI_Request request) {
  int done = 0;
  MPI_Status status;
  if (context->own.Request_get_status(request, &done, &status) == MPI_SUCCESS && done) arrive(operation, status);
}

}  // namespace dunnage::calls
