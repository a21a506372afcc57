// An exchange while it is matched: what all steps of match() have in common.
#pragma once

#include <set>

#include "mpi/triggered/slot_block.hpp"
#include "pack/gpu/pack.hpp"

namespace dunnage::mpi {

/// What this rank's GPU can do.
struct TriggerMeans {
  std::uint64_t identity = 0;  // which device it is
  bool mps = false;            // the device is shared by MPS
  bool operations = false;     // there are memory operations
};

struct Draft {
  Draft(int count, MPI_Request* requests, bool stamps)
      : count(static_cast<std::size_t>(count)), requests(requests), stamps(stamps) {}

  /// All messages go by the MPI.
  void object(const std::string& why) {
    if (objection.empty()) objection = why;
    if (reason.empty()) reason = why;
  }
  /// The peers, and this rank itself.
  std::vector<MatchSide*> all_sides() {
    std::vector<MatchSide*> all{&own};
    for (auto& [rank, side] : sides) all.push_back(&side);
    return all;
  }

  const std::size_t count;
  MPI_Request* const requests;
  const bool stamps;  // whether the program's kernels know stamped partitions
  std::unique_ptr<Exchange> made = std::make_unique<Exchange>();
  MatchSides sides;
  MatchSide own;                    // messages of this rank to itself
  std::vector<MatchSide*> peers;    // with which messages go directly
  std::vector<MatchSide*> proxied;  // with which the proxy does the messages
  std::set<std::size_t> by_mpi;     // places of requests
  std::string reason;               // why messages go as they do; if some go by the MPI, why these
  std::string proxied_reason;       // why the proxy does messages
  std::string waiting_reason;       // why streams wait as they do
  int failure = MPI_SUCCESS;        // of choose_way(), after the peers have been told of direct messages
  std::string objection;            // why this rank can have neither direct messages nor a proxy
  bool prepared = false;            // this rank can have them
  CUcontext context = nullptr;
  TriggerMeans means;
  SlotBlock slots;
  bool shares = false;  // this rank's GPU with a peer, without MPS
  std::vector<PlannedMove> own_moves;
};

}  // namespace dunnage::mpi
