// Receives that the MPI does, and that are looked at when they end.
#pragma once

#include <memory>

#include "mpi/channels/posting.hpp"
#include "mpi/message/request.hpp"
#include "mpi/ways/receive_call.hpp"

namespace dunnage::mpi {

/// What a nonblocking receive needs if the MPI is to do it, and its message may be an announcement.
/// Null if more is to do. This is the short way: programs that gain nothing by Dunnage shall not
/// lose.
std::unique_ptr<Request> watch_only(const ReceiveCall& call);
/// For a receive into the program's buffer that may meet an announcement, or of which channels must
/// know; else null.
std::unique_ptr<Request> watch_receive(const ReceiveCall& call, std::unique_ptr<Posting> posting = nullptr);
/// After the MPI has begun what may have to be watched. Returns `rc`.
int watch(int rc, MPI_Request* request, std::unique_ptr<Request> watched);

}  // namespace dunnage::mpi
