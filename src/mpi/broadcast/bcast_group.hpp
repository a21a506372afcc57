// What is kept with a communicator for its broadcasts.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "collective/trial.hpp"
#include "mpi/process/process.hpp"
#include "pack/cpu/store_choice.hpp"
#include "transport/shm/broadcast_ring.hpp"

namespace dunnage::mpi {

struct BcastGroup {
  int ranks = 0, rank = 0;
  bool possible = true;          // the same on all ranks
  bool ready = false;            // set_up() has been there
  int seen = 0;                  // broadcasts before that
  std::optional<bool> one_host;  // on_one_host() has found that out
  bool counted = false;          // among those of this process that have what it takes

  std::vector<std::uint32_t>
      others;  // on this host, their ranks in MPI_COMM_WORLD; after on_one_host(), where that is so, or set_up()

  // By set_up():
  std::vector<int> host_of;  // of each rank; hosts are numbered by their first ranks
  std::vector<int> leaders;  // of each host the first rank
  std::unique_ptr<transport::shm::BroadcastRing>
      window;                        // of the ranks of this host; null where this one is alone there
  MPI_Comm between = MPI_COMM_NULL;  // for messages between hosts

  static constexpr std::size_t classes = transport::shm::BroadcastRing::notes;
  std::array<collective::Trial, classes> trials;  // by size class
  bool tried = false;                             // one of these has begun
  std::array<pack::StoreChoice, classes> stores;  // how this rank puts data of such a size in place

  static std::size_t class_of(std::int64_t bytes) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes)));
  }
  int hosts() const { return static_cast<int>(leaders.size()); }
  int my_host() const { return host_of[static_cast<std::size_t>(rank)]; }
  /// Shared with what is under way and may outlive the communicator.
  const std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
  std::int64_t published = 0;  // bytes of nonblocking broadcasts since one was the MPI's
  ~BcastGroup();
};

/// The packed bytes of a broadcast; 0 where there are none, more than an integer has, or the
/// arguments are wrong.
std::int64_t broadcast_bytes(std::int64_t count, MPI_Datatype type, MPI_Comm comm);
/// That of a communicator. Null where there can be none. A communicator's broadcasts come one at a
/// time.
BcastGroup* bcast_group(MPI_Comm comm);
/// Whether all of its ranks are on one host, as MPI_Init has found out: to be asked where
/// process->shares. The same on all ranks.
bool on_one_host(BcastGroup& group, MPI_Comm comm);
/// By all ranks at once, inside a broadcast that all are in: with collective calls on the
/// communicator itself. Afterwards broadcasts are possible for all, or for none.
void set_up(BcastGroup& group, MPI_Comm comm);
/// Whether buffers may be in memory of GPUs that nobody here knows of, where the host cannot go.
bool foreign_gpus();
/// Before MPI_Finalize.
void forget_bcast_groups();

}  // namespace dunnage::mpi
