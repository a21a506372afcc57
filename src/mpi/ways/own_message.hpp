// Messages of Dunnage's own, on communicators of its own. They go by the ways of all messages.
#pragma once

#include "mpi/ways/receive.hpp"
#include "mpi/ways/send.hpp"

namespace dunnage::mpi {

/// The most elements of one message. A library that has large-count collectives has large-count
/// messages too.
std::int64_t most_elements(bool persistent);

// Each call is made by the function of the MPI that has room for its count. Each returns an MPI
// error code; the communicator's error handler has then been called.
int begin_own_send(const SendCall& call, MPI_Request* request);
int begin_own_receive(const ReceiveCall& call, MPI_Request* request);
int init_own_send(const SendCall& call, MPI_Request* request);
int init_own_receive(const ReceiveCall& call, MPI_Request* request);

// All messages with these tags to a rank, or from it, have ended. Later ones belong to another
// stream, so that channels of these tags serve nobody.
struct TagsOfPeer {
  int peer, first, count;
  MPI_Comm comm;
};
void end_own_sends(const TagsOfPeer& tags);
void end_own_receives(const TagsOfPeer& tags);

}  // namespace dunnage::mpi
