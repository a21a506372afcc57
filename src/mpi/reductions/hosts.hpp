// The ranks of a communicator that has as many ranks on each of several hosts, for its allreduces.
//
// A host's ranks reduce their data in parts, a part each, by their GPUs. The ranks that have one
// part on all hosts then reduce it by the MPI, in host memory. At last each rank reads the parts of
// the others of its host. So all ranks use the network, each for its part. The plan is that of
// M. Bayatpour et al., "Scalable Reduction Collectives with Data Partitioning-based Multi-Leader
// Design", SC 2017, section 4, where every rank is a leader.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/reductions/group_meeting.hpp"

namespace dunnage::mpi {

/// Not thread-safe: a communicator's collectives come one at a time.
class Hosts {
 public:
  /// All ranks of the communicator call it at a time. Returns null on all ranks if they are on one
  /// host, if a host has one rank only, more than 32, or more than another host, if the MPI reaches
  /// GPUs by itself, or if a rank cannot take part.
  /// `world`: the numbers of the ranks in MPI_COMM_WORLD. `rank`: this rank's number.
  static std::unique_ptr<Hosts> make(MPI_Comm comm, const std::vector<std::uint32_t>& world, std::uint32_t rank);
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  ~Hosts();

  /// Of the ranks of this host.
  GroupMeeting& here() const { return *here_; }
  /// One rank of each host, those that have one number in here(). Its errors are returned.
  MPI_Comm across() const { return across_; }
  /// The fewest bytes that go this way. All ranks get one answer.
  std::int64_t least() const { return shares_gpus_ ? least_if_shared : least_bytes; }
  /// Ranks of some host share a GPU, and their kernels wait for each other. All ranks tell it.
  void share_gpus() { shares_gpus_ = true; }

 private:
  Hosts() = default;
  /// Fewer bytes take the MPI less time, by copies in host memory
  /// (docs/measurements/gpu-collectives.md).
  static constexpr std::int64_t least_bytes = 64 << 10, least_if_shared = 2 << 20;

  std::unique_ptr<GroupMeeting> here_;
  MPI_Comm across_ = MPI_COMM_NULL;
  bool shares_gpus_ = false;
};

}  // namespace dunnage::mpi
