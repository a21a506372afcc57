// The ranks of this job on this host that speak the protocol.
//
// Two ranks know of each other before the first ticket travels. The sender finds the receiver's
// memory and asks to be let in. When the receiver next receives something large, it maps the
// sender's memory and says so. Until then, and if one of them has no such memory, messages go the
// MPI's way.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "transport/shm/memory.hpp"

namespace dunnage::transport::peers {

using shm::Identity;
using shm::Mailbox;
using shm::Memory;
using shm::SegmentHeader;

/// Where a rank's memory is found, and on which host. Plain bytes: it travels in a message.
struct Whereabouts {
  std::uint64_t host = 0;
  std::uint32_t process = 0, file = 0;
};

/// Thread-safe. Takes its lock only while it makes an acquaintance: after that, everything costs a
/// few loads.
class Peers {
 public:
  /// `own`: this process' memory.
  Peers(const Identity& self, const Memory& own) : self_(self), own_(own), peers_(self.ranks) {}
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  const Identity& self() const { return self_; }
  /// The memory of a rank. Returns null if it has not been found. Once found, it stays until the
  /// end.
  const Memory* memory(std::uint32_t rank) const {
    return rank < self_.ranks ? peers_[rank].memory.load(std::memory_order_acquire) : nullptr;
  }
  /// Whether a rank is on this host, and has such memory too. Looks for it, if necessary.
  bool near(std::uint32_t rank);
  /// Whether tickets may be sent to a rank. If not, goes a step towards it.
  bool reaches(std::uint32_t rank);
  /// Lets in that rank, if it has asked. World calls this.
  void answer(std::uint32_t rank);

  /// Tells a rank whether large messages from it go to many places here: then contiguous ones gain
  /// by a ticket too.
  void tell_scatters(std::uint32_t sender, bool scatters);
  /// Whether that rank has told this process so.
  bool scatters(std::uint32_t receiver) const {
    return receiver < self_.ranks && own_.mailbox(receiver).scatters.load(std::memory_order_relaxed) != 0;
  }

  /// Where others find this process. The host is left to the caller.
  Whereabouts whereabouts() const { return {0, own_.header().process, own_.file()}; }
  /// Takes the whereabouts of all ranks. Returns whether this process can read the memory of all
  /// ranks on its host. Not thread-safe: to be called once, at MPI_Init.
  bool learn(std::vector<Whereabouts> all);
  /// The memory of a rank, by its whereabouts if necessary. To be asked after learn().
  const Memory* memory_of_learned(std::uint32_t rank);
  /// Whether two ranks are on one host. To be asked after learn().
  bool on_one_host(std::uint32_t a, std::uint32_t b) const { return whereabouts_[a].host == whereabouts_[b].host; }
  /// Whether a rank of this host may still read what this process has published. Asks the kernel.
  bool somebody_reads() const;

 private:
  enum Standing : std::uint32_t { strange, ready, lost };
  struct Peer {
    std::atomic<const Memory*> memory{nullptr};
    std::atomic<std::uint32_t> standing{strange};  // whether tickets may be sent to it
    unsigned asked = 0;                            // how often it was to be looked for
  };
  static constexpr unsigned most_looks = 64;  // each looks at all processes of the host
  const Memory* look_for(std::uint32_t rank);
  const Memory* keep(Peer& peer, std::unique_ptr<Memory> found);
  bool beside(std::uint32_t rank) const { return rank != self_.rank && on_one_host(rank, self_.rank); }

  const Identity self_;
  const Memory& own_;
  std::mutex mutex_;  // guards all changes of peers_
  std::vector<Peer> peers_;
  std::vector<Whereabouts> whereabouts_;
};

}  // namespace dunnage::transport::peers
