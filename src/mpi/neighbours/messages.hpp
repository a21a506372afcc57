// The messages of one neighbour collective: a receive from each source, a send to each target.
// Edges from this rank to itself need none.
#pragma once

#include "mpi/neighbours/local_moves.hpp"

namespace dunnage::mpi {

/// Arguments that the MPI itself is to refuse. `persistent`: of an _init call.
bool wrong(const Edges& edges, bool persistent);
/// Whether one of the buffers is in a GPU's memory.
bool in_device_memory(const Edges& edges);

/// The requests of all messages. Those that complete become MPI_REQUEST_NULL unless they are
/// persistent.
class Messages {
 public:
  Messages(Hook hook, const Neighbourhood& hood) : hook_(hook), comm_(hood.messages) {}

  // These functions return an MPI error code. If it is not MPI_SUCCESS, all messages have ended.
  int begin(Neighbourhood& hood, const Edges& edges);
  /// Makes persistent requests. `tags` is added to the tag of each edge.
  int init(const Neighbourhood& hood, const Edges& edges, int tags);
  int start();
  int wait();
  /// `ended` tells whether all messages have ended, also if one has failed.
  int test(bool& ended);

  /// Frees persistent requests, which must be inactive.
  void free();
  /// Whether the program's communicator is gone.
  bool orphaned() const { return comm_->orphaned.load(std::memory_order_relaxed); }

 private:
  /// Calls receive(i) and send(i) for the edges that need messages, until one returns an error.
  template <class Receive, class Send>
  int each_edge(const Neighbourhood& hood, Receive&& receive, Send&& send);
  int failed(int code);
  /// The error that a call about all messages has returned; it may have left some under way.
  int outcome(int code, const std::vector<MPI_Status>& statuses);
  /// Waits for what this rank brings to itself, together with what call() brings, and returns the
  /// first error.
  template <class Call>
  int with_moves(Call&& call);
  int count() const { return static_cast<int>(requests_.size()); }

  const Hook hook_;
  std::shared_ptr<MessageComm> comm_;
  std::vector<MPI_Request> requests_;  // the receives come first
  std::size_t receives_ = 0;
  std::shared_ptr<LocalMoves> moves_;  // null if there are none
  bool moved_ = false;                 // since the start
};

}  // namespace dunnage::mpi
