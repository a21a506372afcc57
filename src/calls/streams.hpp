// Large non-contiguous messages between hosts, by ticket: the MPI matches the ticket in the message's place, and its data travels in
// pieces over a duplicate of MPI_COMM_WORLD, so that packing, transfer and unpacking overlap.
//
// Only where all ranks of the job are known to have Dunnage (transport/roster.hpp). The sender sends all pieces at once, from memory
// of its own, and never depends on the receiver's calls: where the receiver does not fetch, the sender goes on, and the pieces are
// left to the MPI's progress.
#pragma once

#include <bitset>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "calls/mpi_table.hpp"
#include "engine/staging.hpp"
#include "pack/cpu/program.hpp"
#include "transport/ticket.hpp"

namespace dunnage::calls {

class Landing;
class Streams;

/// What a sender tells beside each ticket, for probes, which see no more of a message than its length; and once of each of those
/// lengths that an ordinary message has had, after which no ticket has it.
struct Notice {
  std::uint64_t serial;
  std::int64_t size;
  std::uint32_t slot;
  std::int32_t tag;
  std::uint32_t ordinary;
  std::uint32_t unused;
};

/// A message on its way. Given back to the Streams by its destructor, so it must be complete by then. Not thread-safe.
class OutgoingStream {
 public:
  OutgoingStream(Streams& streams, std::uint32_t receiver, const Notice& notice, engine::Staging memory);
  OutgoingStream(const OutgoingStream&) = delete;
  OutgoingStream& operator=(const OutgoingStream&) = delete;
  ~OutgoingStream();

  transport::Ticket ticket() const;
  std::int64_t length() const { return transport::length_of(notice_.slot); }
  std::int64_t carried() const { return transport::carried(notice_.slot); }
  /// Packs what the ticket does not carry, and sends it.
  void send(const pack::Program& program, const void* buffer);
  /// Whether all has been fetched. Lets it go on.
  bool done();
  /// Nobody will fetch it.
  void cancel();
  std::uint32_t receiver() const { return receiver_; }
  std::size_t finished() const { return finished_; }

 private:
  Streams& streams_;
  const std::uint32_t receiver_;
  Notice notice_;
  engine::Staging memory_;
  std::vector<MPI_Request> requests_;  // of the notice, and of the pieces
  std::size_t finished_ = 0;
};

/// Thread-safe.
class Streams {
 public:
  /// Collective over MPI_COMM_WORLD: every rank must know that all others do the same. `most`: bytes that may be under way from here.
  static std::unique_ptr<Streams> join(std::uint64_t most);

  /// A message to a rank of MPI_COMM_WORLD, its notice sent; null where there is no room.
  std::shared_ptr<OutgoingStream> offer(std::uint32_t receiver, std::int64_t size, int tag);
  /// An ordinary message of a ticket's length is about to be sent there: no ticket will be of that length.
  void avoid(std::uint32_t receiver, std::int64_t length);
  /// Waits until the receiver has fetched a message whose ticket it has, as a sender of a large message does without us. Whether all
  /// is done: a receiver that is blocked in a call of the MPI's own cannot fetch, and waiting for it might take for ever. So who has
  /// waited in vain for `patience` goes on, and sends nothing more this way.
  bool linger(OutgoingStream& stream);

  /// Whether these bytes are the ticket of a message to this process that has not been fetched.
  bool recognise(const transport::Ticket& ticket, std::int64_t length);
  /// Puts what the ticket did not carry in its place, or nowhere. False where there is no memory for that.
  bool fetch(const transport::Ticket& ticket, Landing* landing);
  /// The true size of a message of a ticket's length that can be received but has not been; the length itself if it is no ticket.
  std::int64_t size_of(std::uint32_t sender, std::int64_t length, int tag);
  /// Whether somebody has a message under way to this process that has not been received. Looks at no message.
  bool expects();

  /// Collective, before MPI_Finalize: returns when nothing is under way any more. Takes what nobody has fetched and nobody will,
  /// once all are here. Calls nothing_left() all the time, which says whether all that this process has sent is gone.
  template <class NothingLeft>
  void leave(NothingLeft&& nothing_left) {
    for (arrive_at_barrier(); !all_there();) nothing_left();
    while (!nothing_left()) take_the_rest();
    for (arrive_at_barrier(); !all_there();) take_the_rest();
    end();
  }

  static constexpr std::int64_t piece = 128 << 10;  // bytes
  static constexpr auto patience = std::chrono::milliseconds(500);

 private:
  friend class OutgoingStream;
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::bitset<transport::slots> avoided;    // as a receiver
    std::bitset<transport::slots> ordinary;   // as a sender
    std::vector<Notice> notices;              // of messages that have not been fetched
    std::uint64_t fetched_below = 1;          // serials
    std::set<std::uint64_t> fetched;          // and others
    std::uint64_t next_serial = 1;
  };
  Streams(MPI_Comm comm, std::uint32_t rank, std::uint32_t ranks, std::uint64_t most) : comm_(comm), rank_(rank), most_(most), peers_(ranks) {}
  Peer& peer(std::uint32_t rank);
  /// Of the pieces of a message. Not of its slot: an MPI that has taken the pieces into memory of its own calls them sent, and the
  /// slot is another's, before the receiver has asked for them, or though it never does.
  int tag_of(std::uint64_t serial) const { return 1 + static_cast<int>(serial % most_tag_); }
  void give_back(std::uint32_t slot, std::int64_t size);
  /// Reads the notices that have come from a rank. Under the lock.
  void hear(std::uint32_t sender);
  void arrive_at_barrier();
  bool all_there();
  void take_the_rest();
  void end();

  MPI_Comm comm_;
  const std::uint32_t rank_;
  const std::uint64_t most_;
  std::uint64_t chance_[2]{};
  std::uint64_t most_tag_ = 32767;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::bitset<transport::slots> taken_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t under_way_ = 0;
  bool given_up_ = false;
  std::vector<std::pair<std::unique_ptr<Notice>, MPI_Request>> told_;  // of ordinary lengths
  MPI_Request barrier_ = MPI_REQUEST_NULL;
};

}  // namespace dunnage::calls
