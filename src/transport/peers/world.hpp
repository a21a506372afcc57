// All that this process has to do with the other ranks of its job on this host.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "transport/peers/gpu_proofs.hpp"
#include "transport/peers/passing.hpp"
#include "transport/peers/peers.hpp"
#include "transport/peers/rendezvous.hpp"
#include "transport/peers/tokens.hpp"
#include "transport/shm/choices.hpp"
#include "transport/shm/offers.hpp"
#include "transport/shm/patience.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::transport::peers {

/// Owns the parts, and does what needs several of them. Each part has its own lock or none, and no
/// part calls its user while it holds a lock. Thread-safe.
class World {
  const std::unique_ptr<Memory> own_;
  shm::Room room_;
  shm::Slots slots_{*own_, room_};
  std::atomic<std::uint32_t> answered_{0};
  std::atomic<bool> answering_{false};

 public:
  Peers peers;
  Rendezvous rendezvous{peers, slots_};
  Tokens tokens{*own_, peers, slots_};
  GpuProofs gpu_proofs{*own_, peers};
  Passing passing{*own_, peers};
  shm::Publications publications{*own_, room_};

  /// Makes this process' memory. `most`: bytes of data that may wait for their receivers. `idle`:
  /// bytes of memory that are kept for later data. `brief`: short tickets and tokens may come as
  /// well. Returns null if there is no such memory.
  static std::unique_ptr<World> join(const Identity& self, std::uint64_t most, std::uint64_t idle, bool brief = false);

  /// From now on short tickets and tokens may come as well. To be called in MPI_Init.
  void take_brief() {
    own_->header().brief.store(1, std::memory_order_relaxed);
    own_->header().takes_tokens.store(1, std::memory_order_release);
  }
  /// Answers what others have asked this process. Costs two loads if nobody has asked. If another
  /// thread is answering, or a caller of this one, leaves it to that.
  void answer() {
    if (own_->header().requests.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed))
      answer_requests();
  }
  /// A hold of memory of this process that the rank holds, so that an operation may name it. To be
  /// asked if the peers' reaches() is true. Returns null if the rank does not hold it, and goes a
  /// step towards it, as Passing::pass() says.
  Hold holds(std::uint32_t rank, const Allocation& memory, const decltype(Label::bytes)& bytes,
             const std::function<base::Descriptor()>& make);
  /// The memory of a rank of this host, which may be this one, if it has been mapped. To be asked
  /// after Peers::learn().
  const Memory* memory(std::uint32_t rank) {
    return rank == peers.self().rank ? own_.get() : peers.memory_of_learned(rank);
  }
  /// Where this process writes what it has found out under that name (shm/choices.hpp), or null.
  std::atomic<std::uint32_t>* take_choice(std::uint64_t name) const { return shm::take_choice(*own_, name); }
  /// What a rank has found out under that name; 0 if nothing is known. `look`: the rank may be
  /// looked for, which may take a millisecond. That is done once for a rank, and for the first
  /// `most_looked_for` ranks.
  std::uint32_t choice_of(std::uint32_t rank, std::uint64_t name, bool look);
  /// Offers a publication to another rank under that name (shm/offers.hpp). Returns false if there
  /// is no place.
  bool offer(std::uint64_t name, const shm::Offered& what) const { return shm::offer(*own_, name, what); }
  /// What a rank offers under that name, if anything. The rank may be looked for, as by
  /// choice_of().
  std::optional<shm::Offered> offer_of(std::uint32_t rank, std::uint64_t name);
  /// What a rank has published, which may be this one. Returns nothing if it is not there.
  std::optional<shm::Reading> published(std::uint32_t rank, std::uint64_t begin, std::uint64_t serial,
                                        std::int64_t size);

  /// This process is in MPI_Finalize.
  void finalize_begins() { own_->header().finalizes.store(1, std::memory_order_release); }
  /// Whether a rank is in MPI_Finalize, or gone, so that it receives nothing any more. Asks the
  /// kernel.
  bool finalizes(std::uint32_t rank);
  /// From now on this process wants no tickets and sends none. Waits until all that it sent has
  /// been received, or never will be. Calls let_go_on() again and again.
  template <class LetGoOn>
  void leave(LetGoOn&& let_go_on) {
    own_->header().leaving.store(1, std::memory_order_release);
    shm::Patience patience;
    while (!all_received(patience.doubts())) {
      patience.wait();
      let_go_on();
    }
  }

 private:
  static constexpr std::uint32_t most_looked_for = 32;

  World(const Identity& self, std::unique_ptr<Memory> own, std::uint64_t most, std::uint64_t idle);
  /// The memory of a rank, if it has been found. `look`: it may be looked for.
  const Memory* found(std::uint32_t rank, bool look);
  void answer_requests();
  bool all_received(bool in_doubt);

  std::vector<std::atomic<bool>> looked_for_;  // by rank
  std::atomic<std::uint32_t> looks_{0};
};

}  // namespace dunnage::transport::peers
