// What the sender of a partitioned message tells the receiver once, when it is initialised. The
// sender waits for no answer.
#pragma once

#include <compare>
#include <optional>

#include "mpi/process/lineage.hpp"
#include "plan/partitions.hpp"

namespace dunnage::mpi {

/// Names a partitioned message at its receiver. Messages match in the order in which they were
/// initialised, so both ranks know the name without a message.
struct MessageName {
  Lineage lineage;       // of the communicator
  int source;            // rank in MPI_COMM_WORLD
  int tag;               // the program's
  std::uint32_t number;  // messages with the other words alike that were initialised before
  auto operator<=>(const MessageName&) const = default;
};

/// Plain bytes.
struct Introduction {
  MessageName name;
  plan::Pieces pieces;
  int first_tag;  // of the pieces, on the private communicator
};

/// Sends an introduction. Returns an MPI error code. Thread-safe.
int introduce(const Introduction& introduction, int dest);
/// Looks for introductions that have come. Returns that of a message, once. Thread-safe.
std::optional<Introduction> introduction_of(const MessageName& name);
/// Nobody will ask for that introduction any more. Thread-safe.
void forget_introduction(const MessageName& name);

}  // namespace dunnage::mpi
