// What is done when the MPI has completed an operation of ours.
#pragma once

#include "calls/gpu_tickets.hpp"
#include "calls/tickets.hpp"
#include "engine/operation.hpp"

namespace dunnage::calls {

/// What is kept beside the request of a send that may go by ticket; else null.
inline TicketOperation* ticket_of(engine::Operation& operation) {
  return operation.kind == engine::Operation::Kind::ticket ? static_cast<TicketOperation*>(operation.kept.get()) : nullptr;
}

/// Puts what a receive brought where the user wants it, once, and corrects the status where that is of a ticket. Of a send,
/// takes the data of a cancelled ticket away. Returns what the operation is to return, with no handler called.
int arrive(engine::Operation& operation, MPI_Status& status);

/// The same for a receive if it is there, as number `index` of the batch. False where it is not there yet; true also where the MPI has an
/// error for it, which the call about the request will tell again.
bool arrive_if_there(engine::Operation& operation, MPI_Request request, FetchBatch& batch, int index);

}  // namespace dunnage::calls
