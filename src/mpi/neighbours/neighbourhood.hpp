// What is kept with a communicator that has a topology, for its neighbour collectives.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/process/private_world.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// One edge of the topology. Messages along several edges between two ranks are told apart by their
/// tags.
struct Edge {
  int peer;  // may be MPI_PROC_NULL
  int tag;
};

class ExchangeSlots;
class Lines;
class LocalMoves;
class Rings;
class Snapshot;
class UnaskedKind;

/// What the messages go by. Operations that are under way, and persistent requests, share it with
/// the program's communicator, which may be freed before them.
class MessageComm {
 public:
  /// A communicator with the ranks of the program's one. It is freed with this object. `rank`: of
  /// this process.
  MessageComm(MPI_Comm fresh, int of_this) : comm(fresh), rank(of_this), owned_(true) {}
  /// A communicator with more ranks. `ranks`: what the ranks of the program's one are called there.
  /// `tag`: the first of few_tags tags which no other messages there have, now or later.
  MessageComm(MPI_Comm larger, int of_this, std::vector<int> ranks, int tag)
      : comm(larger), rank(of_this), owned_(false), ranks_(std::move(ranks)), tag_(tag) {}
  MessageComm(const MessageComm&) = delete;
  MessageComm& operator=(const MessageComm&) = delete;
  ~MessageComm();

  /// The peer and the tag of messages along an edge. Two tags are enough for all edges between two
  /// different ranks: in a Cartesian topology there are one down and one up, and those of a graph
  /// are begun in one order by both ranks.
  Edge ends_of(const Edge& edge) const {
    if (owned_) return edge;
    const int peer = edge.peer < 0 ? edge.peer : ranks_[static_cast<std::size_t>(edge.peer)];
    return {peer, tag_ + edge.tag % few_tags};
  }

  MPI_Comm comm;
  const int rank;  // of this process in the program's communicator

 private:
  const bool owned_;
  const std::vector<int> ranks_;
  const int tag_ = 0;
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
  /// Set when the program's communicator is gone. Operations that outlive it share the word.
  std::shared_ptr<std::atomic<bool>> orphaned = std::make_shared<std::atomic<bool>>(false);
  /// Null until the ranks have agreed to exchange the messages by Dunnage.
  std::shared_ptr<MessageComm> messages;
  /// Whether the ranks have agreed to exchange host memory through rings, as long as there are no
  /// `messages`. Nothing until they have talked about it.
  std::optional<bool> by_rings;
  /// Of blocking collectives. Null until the first of them.
  std::shared_ptr<Rings> rings;
  /// Of nonblocking collectives in host memory, as long as there are no `messages`. Null if such
  /// collectives are the MPI's.
  std::shared_ptr<ExchangeSlots> slots;
  /// For messages beside the rings.
  std::shared_ptr<MessageComm> beside_rings;
  /// Of blocking collectives. Null until the first of them, and if no neighbour can have lines.
  std::shared_ptr<Lines> lines;
  bool connected = false;  // the first blocking collective has been begun
  /// Of the last blocking or nonblocking collective, which most often comes again.
  std::shared_ptr<LocalMoves> last_moves;
  /// Of the last one in place, if it had little data.
  std::shared_ptr<Snapshot> last_snapshot;
  unsigned calls = 0;  // until there are `messages`
  /// Of nonblocking collectives, until there are `messages`. Null until the first of them.
  std::shared_ptr<UnaskedKind> unasked;
  /// How many different tags the edges have, on all ranks alike once they have agreed.
  int tags = 1;
  /// How many persistent operations have been made. Neighbourhoods share the number if they share
  /// the communicator for the messages; each edge then has one tag.
  std::shared_ptr<int> operations = std::make_shared<int>(0);

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

/// A communicator for messages with the ranks of `comm`, which all call it at a time. Returns null
/// on all ranks if one has none. Sets Neighbourhood::tags.
std::shared_ptr<MessageComm> split_message_comm(Neighbourhood& hood, MPI_Comm comm);
/// Whether all ranks of a communicator are in MPI_COMM_WORLD.
bool all_in_this_world(MPI_Comm comm);
/// The places of the edges with each peer but `self`, ordered as both ends see them: by their tags,
/// and edges with one tag as they come.
std::map<int, std::vector<std::size_t>> by_peer(const std::vector<Edge>& edges, int self);
/// Finds the edges from this rank to itself.
void pair_loops(MPI_Comm comm, Neighbourhood& hood);

}  // namespace dunnage::mpi
