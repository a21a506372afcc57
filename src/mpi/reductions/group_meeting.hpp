// A meeting (transport/gpu/meeting.hpp) of ranks of one host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/process/process.hpp"
#include "transport/gpu/meeting.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// The meeting, and the shared memory that it is held in.
class GroupMeeting {
 public:
  /// Of the ranks of a communicator, which have the numbers `world` in MPI_COMM_WORLD. All ranks
  /// call it at a time. Returns null on all ranks if one of them cannot take part.
  static std::unique_ptr<GroupMeeting> make(MPI_Comm comm, const std::vector<std::uint32_t>& world, std::uint32_t rank);
  GroupMeeting(const GroupMeeting&) = delete;
  GroupMeeting& operator=(const GroupMeeting&) = delete;
  ~GroupMeeting();

  transport::gpu::Meeting& meeting() { return *meeting_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(world_.size()); }
  std::uint32_t world_rank(std::uint32_t rank) const { return world_[rank]; }
  /// Whether a rank is gone. Asks the kernel.
  bool forsaken() const;

 private:
  GroupMeeting() = default;
  std::vector<std::uint32_t> world_;  // the ranks in MPI_COMM_WORLD
  std::uint32_t rank_ = 0;
  std::unique_ptr<transport::gpu::Seat> alone_;  // the seat of a rank that is alone
  std::optional<transport::shm::Publications::Published> own_;
  std::vector<std::unique_ptr<transport::shm::Reading>> others_;
  std::optional<transport::gpu::Meeting> meeting_;
};

}  // namespace dunnage::mpi
