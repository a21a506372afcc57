// What is kept with a communicator that has a topology, for its neighbour collectives.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// One edge of the topology. Messages along several edges between two ranks are told apart by their
/// tags.
struct Edge {
  int peer;  // may be MPI_PROC_NULL
  int tag;
};

class Lines;
class LocalMoves;

/// A communicator for the messages. Operations that are under way, and persistent requests, share
/// it with the program's communicator, which may be freed before them.
struct MessageComm {
  explicit MessageComm(MPI_Comm fresh) : comm(fresh) {}
  MessageComm(const MessageComm&) = delete;
  MessageComm& operator=(const MessageComm&) = delete;
  ~MessageComm();

  MPI_Comm comm;
  std::atomic<bool> orphaned{false};  // the program's communicator is gone
};

struct Neighbourhood {
  /// Empty unless the communicator has a topology and all its ranks are in MPI_COMM_WORLD. The
  /// ranks agree on that without a message.
  std::vector<Edge> sources, targets;
  bool possible = false;
  /// Edges from this rank to itself, by their numbers in `targets` and `sources`.
  struct Loop {
    std::size_t target, source;
  };
  std::vector<Loop> loops;
  /// Null until the ranks have agreed to exchange the messages by Dunnage.
  std::shared_ptr<MessageComm> messages;
  /// Of blocking collectives. Null until the first of them, and if no neighbour can have lines.
  std::shared_ptr<Lines> lines;
  bool connected = false;  // the first blocking collective has been begun
  /// Of the last blocking or nonblocking collective, which most often comes again.
  std::shared_ptr<LocalMoves> last_moves;
  unsigned calls = 0;  // until then
  /// How many different tags the edges have, on all ranks alike once they have agreed; and how many
  /// persistent operations have been made.
  int tags = 1, operations = 0;

  ~Neighbourhood();
  /// What is added to the tags of the next persistent operation. Such operations match in the order
  /// in which they were made, and may be started in another one.
  int next_tags();
};

/// That of a communicator. Null if the MPI has no attributes to give. A communicator's collectives
/// come one at a time.
Neighbourhood* neighbourhood(MPI_Comm comm);

/// Whose the next collective is: the MPI's, Dunnage's, or that which the ranks agree on. All ranks
/// get one answer. They ask each other at calls 1, 2, 4, 8 and so on, until one of them uses a GPU.
/// Counts the call. The collective may wait for all ranks.
enum class Turn { theirs, asked, ours };
Turn next_turn(Neighbourhood& hood);

/// Whether all ranks of a communicator are in MPI_COMM_WORLD.
bool all_in_this_world(MPI_Comm comm);
/// Finds the edges from this rank to itself.
void pair_loops(MPI_Comm comm, Neighbourhood& hood);

}  // namespace dunnage::mpi
