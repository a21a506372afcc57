// MPI_Psend_init: each piece is a message of its own, which is sent when its last partition is
// ready.
#pragma once

#include <vector>

#include "mpi/partitioned/request.hpp"
#include "plan/partitions.hpp"

namespace dunnage::mpi {

class PartitionedSend : public PartitionedRequest {
 public:
  /// `dest`: the receiver's rank in MPI_COMM_WORLD.
  PartitionedSend(const PartitionedCall& call, std::shared_ptr<const KeptType> type, const Origin& origin, int dest);
  ~PartitionedSend() override;

  /// Tells the receiver of the message, whose number is the next one to it. To be called once.
  /// Returns an MPI error code.
  int introduce_to(int dest, Origin& origin);
  /// Partitions begin, ..., end - 1 are ready. They exist. Returns an MPI error code; calls no
  /// handler. Thread-safe.
  int ready(std::int64_t begin, std::int64_t end);

 protected:
  int restart() override;
  bool move_on() override;
  int arrive(MPI_Status& status) override;

 private:
  int send(std::int64_t piece);

  const int dest_;
  const plan::Pieces pieces_;
  const Tags tags_;
  bool first_start_ = true, started_ = false;
  struct Partition {
    std::atomic<bool> ready{false};
  };
  struct Piece {
    std::atomic<std::int64_t> left{0};  // partitions that are not ready
    std::atomic<bool> begun{false};     // `request` is set
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::vector<Partition> partitions_;
  std::vector<Piece> all_;
  std::vector<std::size_t> under_way_;  // pieces that have not ended
};

}  // namespace dunnage::mpi
