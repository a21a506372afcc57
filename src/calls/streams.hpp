// Large non-contiguous messages of blocking sends between hosts, by ticket: the MPI matches the ticket in the message's place, and its
// data travels in pieces over a duplicate of MPI_COMM_WORLD, so that packing, transfer and unpacking overlap.
//
// Only where all ranks of the job are known to have Dunnage (transport/roster.hpp). Pieces are small enough that the MPI takes them from
// the sender without the receiver's asking: so a sender that waits for them to leave depends on no more of the receiver than that
// it calls the MPI, as without us, and once they have left needs not be there any more.
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

/// A message on its way. Given back to the Streams by its destructor, so done() must have been true, or nothing announced. Not thread-safe.
class OutgoingStream {
 public:
  OutgoingStream(Streams& streams, std::uint32_t receiver, const Notice& notice, std::int64_t piece, engine::Staging memory);
  OutgoingStream(const OutgoingStream&) = delete;
  OutgoingStream& operator=(const OutgoingStream&) = delete;
  ~OutgoingStream();

  transport::Ticket ticket() const;
  std::int64_t length() const { return transport::host_lengths.of(notice_.slot); }
  std::int64_t carried() const { return transport::carried(notice_.slot); }
  /// Sends the notice. Before the ticket is sent.
  void announce();
  /// Packs what the ticket does not carry, and sends it once the receiver has `ticket`, which is completed. Returns when all has left,
  /// or nothing leaves for Streams::patience. Returns the MPI's first error.
  int send(const pack::Program& program, const void* buffer, MPI_Request& ticket);
  /// Whether all has left. Lets it go on.
  bool done();

 private:
  Streams& streams_;
  const std::uint32_t receiver_;
  Notice notice_;
  const std::int64_t piece_;
  engine::Staging memory_;
  std::vector<MPI_Request> requests_;  // of the notice, and of the pieces
  std::size_t finished_ = 0;
  int error_ = MPI_SUCCESS;
};

/// Thread-safe.
class Streams {
 public:
  /// Collective over MPI_COMM_WORLD: every rank must know that all others do the same. `most`: bytes that may be under way from here.
  static std::unique_ptr<Streams> join(std::uint64_t most);

  /// A message to a rank of MPI_COMM_WORLD. Null where there is no room, or while it is not known that the MPI takes pieces from here
  /// to there.
  std::shared_ptr<OutgoingStream> offer(std::uint32_t receiver, std::int64_t size, int tag);
  /// An ordinary message of a ticket's length is about to be sent there: no ticket will be of that length.
  void avoid(std::uint32_t receiver, std::int64_t length);

  /// Whether these bytes are the ticket of a message to this process that has not been fetched.
  bool recognise(const transport::Ticket& ticket, std::int64_t length);
  /// Puts what the ticket did not carry in its place, or nowhere. False where the MPI fails or there is no memory.
  bool fetch(const transport::Ticket& ticket, Landing* landing);
  /// The true size of a message of a ticket's length that can be received but has not been; the length itself if it is no ticket.
  /// `waits`: the sender sends such messages that way, so it has told, or will at once, what this one is.
  std::int64_t size_of(std::uint32_t sender, std::int64_t length, int tag, bool waits);

  /// Collective, before MPI_Finalize: returns when nothing is under way any more. Takes what nobody has fetched and nobody will,
  /// once all are here. Calls nothing_left() all the time, which says whether all that this process has sent is gone.
  template <class NothingLeft>
  void leave(NothingLeft&& nothing_left) {
    stop();
    for (arrive_at_barrier(); !all_there();) nothing_left();
    while (!nothing_left() || !all_told()) take_the_rest();
    for (arrive_at_barrier(); !all_there();) take_the_rest();
    end();
  }

  static constexpr auto patience = std::chrono::seconds(10);

 private:
  friend class OutgoingStream;
  using Clock = std::chrono::steady_clock;
  /// Messages that nobody asks for, by which it is found out what the MPI takes.
  struct Trial {
    std::int64_t size;
    MPI_Request request;
  };
  struct Peer {
    // As a receiver.
    std::bitset<transport::slots> avoided;
    std::vector<Trial> trials;
    bool tried = false;
    std::int64_t piece = 0;  // the largest that was taken
    std::uint64_t next_serial = 1;
    // As a sender.
    std::bitset<transport::slots> ordinary;
    std::vector<Notice> notices;      // of messages that have not been fetched
    std::uint64_t fetched_below = 1;  // serials
    std::set<std::uint64_t> fetched;  // and others
  };
  Streams(MPI_Comm comm, std::uint32_t rank, std::uint32_t ranks, std::uint64_t most) : comm_(comm), rank_(rank), most_(most), peers_(ranks) {}
  Peer& peer(std::uint32_t rank);
  /// The largest piece that the MPI takes; 0 while that is not known. Under the lock.
  std::int64_t piece_for(std::uint32_t receiver, Peer& peer);
  /// Of the pieces of a message. Not of its slot: that may be another's before the receiver has asked for them, or though it never does.
  int tag_of(std::uint64_t serial) const;
  void give_back(std::uint32_t slot, std::int64_t size);
  /// Reads the notices that have come from a rank. Under the lock.
  void hear(std::uint32_t sender);
  void take(int source, int tag);
  void stop();
  void arrive_at_barrier();
  bool all_there();
  void take_the_rest() { take(MPI_ANY_SOURCE, MPI_ANY_TAG); }
  /// Whether notices and trials of ours are gone.
  bool all_told();
  void end();

  MPI_Comm comm_;
  const std::uint32_t rank_;
  const std::uint64_t most_;
  std::uint64_t chance_[2]{};
  std::uint64_t most_tag_ = 32767;
  std::mutex mutex_;
  bool stopped_ = false;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::bitset<transport::slots> taken_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t under_way_ = 0;
  std::vector<std::pair<std::unique_ptr<Notice>, MPI_Request>> told_;  // of ordinary lengths
  MPI_Request barrier_ = MPI_REQUEST_NULL;
};

}  // namespace dunnage::calls
