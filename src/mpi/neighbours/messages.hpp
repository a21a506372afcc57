// The messages of one neighbour collective: a receive from each source, a send to each target.
#pragma once

#include "mpi/neighbours/edges.hpp"

namespace dunnage::mpi {

/// Arguments that the MPI itself is to refuse. `persistent`: of an _init call.
bool wrong(const Edges& edges, bool persistent);
/// Whether one of the buffers is in a GPU's memory, or the program has used such memory before.
bool uses_gpu(const Edges& edges);

/// The requests of all messages. Those that complete become MPI_REQUEST_NULL unless they are
/// persistent.
class Messages {
 public:
  Messages(Hook hook, const Neighbourhood& hood) : hook_(hook), comm_(hood.messages) {}

  // These functions return an MPI error code. If it is not MPI_SUCCESS, all messages have ended.
  int begin(const Neighbourhood& hood, const Edges& edges);
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
  int failed(int code);
  /// The error that a call about all messages has returned; it may have left some under way.
  int outcome(int code, const std::vector<MPI_Status>& statuses);
  int count() const { return static_cast<int>(requests_.size()); }

  const Hook hook_;
  std::shared_ptr<MessageComm> comm_;
  std::vector<MPI_Request> requests_;  // the receives come first
  std::size_t receives_ = 0;
};

}  // namespace dunnage::mpi
