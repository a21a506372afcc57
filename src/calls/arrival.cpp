#include "calls/arrival.hpp"

namespace dunnage::calls {

using Kind = engine::Operation::Kind;

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
  }
  if (!operation.receives()) return MPI_SUCCESS;
  if (operation.delivered) {
    if (operation.bytes >= 0) context->own.Status_set_elements_x(&status, MPI_BYTE, operation.bytes);
    return operation.error;
  }
  operation.delivered = true;
  auto bytes = received_bytes(status);
  if (context->world && transport::ticket_length(bytes)) {
    auto staged = operation.kind == Kind::receive ? Landing::staged(operation.parcel, operation.content) : Landing();
    auto& landing = operation.kind == Kind::receive ? staged : *static_cast<Landing*>(operation.kept.get());
    if (const auto rc = redeem(landing, bytes, status)) {
      operation.bytes = bytes;
      return operation.error = *rc;
    }
  }
  if (operation.kind == Kind::receive) {
    tell_scatters(bytes, operation.sender);
    return operation.error = deliver(operation.parcel, operation.content, bytes);
  }
  return MPI_SUCCESS;
}

}  // namespace dunnage::calls
