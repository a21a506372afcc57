// Receives that wait for a channel, and those that channels are to hear of (mpi/channels).
#pragma once

#include <memory>

#include "mpi/channels/posting.hpp"
#include "mpi/lines/in_line.hpp"
#include "mpi/ways/receive_call.hpp"

namespace dunnage::mpi {

/// Whether a call is surely right, so that its message may come without the MPI's check.
bool surely_right(const ReceiveCall& call);
/// Begins a posting. Returns whether the receive waits for a channel.
bool waits_for_channel(Posting& posting, const ReceiveCall& call);

/// For a receive that a channel counts, or that may hear of one; else null. Only receives into
/// device memory hear of channels, so that others cost less. A receive of nothing may have no
/// buffer, and then no address tells where it is.
std::unique_ptr<Posting> posting_of(const ReceiveCall& call);
/// Of a receive that is about to begin and will not wait for a channel. Null if it does not matter
/// to channels.
std::unique_ptr<Posting> posting_of(int source, int tag, MPI_Comm comm);

/// The bytes that a message brings which waits on its channel's line.
std::int64_t bytes_of(InLine& line);
/// A message that has come by a channel, as a status tells of it.
void tell_status(std::int64_t bytes, int source, int tag, MPI_Status& status);
/// Fetches a message that has come by a channel. What a device fetches goes with the thread's
/// FetchBatch. Returns an MPI error code.
int fetch_from(InLine& line);
/// A blocking receive that waits for a channel.
int receive_by_channel(const ReceiveCall& call, Posting& posting, MPI_Status* users);

}  // namespace dunnage::mpi
