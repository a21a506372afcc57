// What persistent requests are, for DNG_Match: MPI tells nothing about a request.
#pragma once

#include <optional>

#include "memory/buffer.hpp"
#include "mpi/process/lineage.hpp"

namespace dunnage::mpi {

/// One persistent send or receive.
struct PersistentMessage {
  bool sends = false;
  bool synchronous = false;      // MPI_Ssend_init
  int peer = MPI_PROC_NULL;      // in its communicator; may be MPI_ANY_SOURCE
  int tag = 0;                   // may be MPI_ANY_TAG
  int world_peer = -1;           // the peer's rank in MPI_COMM_WORLD; -1 if it has none
  Lineage comm{};                // all zero if it is not known
  memory::Buffer buffer{};       // empty if the data are not in device memory, or are none
  bool on_device = false;        // the buffer is what kernels can move
  bool nothing = false;          // no bytes
  std::int64_t partitions = -1;  // of a partitioned message, else -1
};

/// `hook`, which makes a persistent request, has returned `rc`. Returns `rc`. Thread-safe.
int note_persistent(int rc, Hook hook, const void* buffer, std::int64_t count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, const MPI_Request* request);
/// Likewise for a partitioned message. `count`: elements of all partitions.
int note_partitioned(int rc, bool sends, const void* buffer, std::int64_t partitions, std::int64_t count,
                     MPI_Datatype type, int peer, int tag, MPI_Comm comm, const MPI_Request* request);
/// A request is freed. Thread-safe.
void forget_persistent(MPI_Request request);
/// Nothing if the request is not known as a persistent message. Thread-safe.
std::optional<PersistentMessage> persistent_message(MPI_Request request);

}  // namespace dunnage::mpi
