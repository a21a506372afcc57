// The ranks of this job on this host that speak the protocol, and the operations between them and this process.
//
// Two ranks know of each other before the first ticket travels: the sender finds the receiver's memory and asks to be let in;
// the receiver, when it next receives something large, maps the sender's memory and says so. Until then, and where either has
// no such memory, messages go the MPI's way.
#pragma once

#include <array>
#include <bitset>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "transport/shm/passing.hpp"
#include "transport/shm/post.hpp"
#include "transport/shm/publications.hpp"
#include "transport/shm/regions.hpp"
#include "transport/shm/stream.hpp"

namespace dunnage::transport::shm {

/// Thread-safe.
class World {
 public:
  /// `most`: bytes of data that may wait for their receivers, `idle`: bytes of memory kept for the next ones. `brief`: the shorter kind of
  /// tickets may come as well. Null where this process cannot take part.
  static std::unique_ptr<World> join(const Identity& self, std::uint64_t most, std::uint64_t idle, bool brief = false);
  /// The lengths of tickets to that rank of data in a GPU's memory; to be asked where reaches() is true.
  const Lengths& gpu_ticket(std::uint32_t rank);

  /// Whether tickets may be sent to a rank; goes a step towards it if not.
  bool reaches(std::uint32_t rank);
  /// Whether a rank is on this host, and has such memory too.
  bool near(std::uint32_t rank);
  /// Lets in who has asked. Costs one load where nobody has.
  void answer() {
    if (own_->greeting().letters.load(std::memory_order_relaxed) != answered_.load(std::memory_order_relaxed)) open_letters();
  }

  /// Tells a rank whether large messages from it go to many places here, so that contiguous ones gain by a ticket too.
  void tell_scatters(std::uint32_t sender, bool scatters);
  /// Whether that rank has told us so.
  bool scatters(std::uint32_t receiver) const {
    return receiver < self_.ranks && own_->letter(receiver).scatters.load(std::memory_order_relaxed) != 0;
  }

  /// Whether a rank reads the memory of this process' GPU; to be asked where reaches() is true. Makes it find out if it has not,
  /// with what make_proof() exports, nothing where that cannot be.
  bool reads_gpu(std::uint32_t rank, const std::function<std::optional<Letter::Proof>()>& make_proof);
  /// How this process finds out: `check` returns whether it can. Before that others wait for an answer.
  void check_proofs(std::function<bool(const Letter::Proof&)> check);

  /// Whether a rank holds memory of this process, so that an operation may name it; to be asked where reaches() is true. If it does not, goes a step
  /// towards it, with what make() returns, empty where there is no descriptor of it. `bytes`: what is to travel with that.
  bool holds(std::uint32_t rank, const Allocation& memory, const decltype(Label::bytes)& bytes, const std::function<base::Descriptor()>& make);
  /// How this process takes what others pass to it: `take` returns whether it holds that from now on. What the same rank passed to the same
  /// place before is no longer wanted. Before that nothing is passed.
  using Take = std::function<bool(std::uint32_t rank, std::uint32_t place, Post::Letter letter)>;
  void take_passed(Take take);

  /// A new operation for `size` bytes, more than any ticket has; nothing where there is no room. `gpu`: of data in a GPU's memory, which stay there.
  /// `named`: memory that it names, and that the receiver holds; nothing where that has just changed.
  std::optional<Outgoing> offer(std::uint32_t receiver, std::int64_t size, int tag, bool gpu = false, const std::optional<Allocation>& named = {});
  /// The same for a message with a token, of a length that token_length() has. `head`: what a ticket would begin with.
  std::optional<Outgoing> offer_token(std::uint32_t receiver, std::int64_t size, int tag, std::span<const char> head, const std::optional<Allocation>& named = {});
  /// Whether that rank takes tokens; to be asked where reaches() is true.
  bool takes_tokens(std::uint32_t rank);
  /// Whether a token may come to this process. Two loads.
  bool expects_token() const { return own_->greeting().tokens.load(std::memory_order_relaxed) != 0; }
  /// A receive with room for a token is about to begin in host memory: others must send none from now on. Returns whether any may still come: then that receive
  /// must be looked at.
  bool refuse_tokens();
  /// The operation that a token names, if that is what these bytes are.
  std::optional<Incoming> recognise(std::uint64_t token, std::int64_t length);
  /// Such data will be packed into shared memory after all: room for them. False where there is none. `must`: also beyond what was allowed.
  bool make_room(const Outgoing& outgoing, bool must = false);
  /// An ordinary message of a ticket's length is about to be sent there: no ticket will be of that length.
  void avoid(std::uint32_t receiver, std::int64_t length);
  /// The operation that a ticket names, if that is what these bytes are.
  std::optional<Incoming> recognise(const Ticket& ticket, std::int64_t length);
  /// The true size of a message of a ticket's length that can be received but has not been; the length itself if it is no ticket.
  std::int64_t size_of(std::uint32_t sender, std::int64_t length, int tag);

  /// Where a rank's memory is found, and by which host. Plain bytes, for a message.
  struct Whereabouts {
    std::uint64_t host = 0;
    std::uint32_t process = 0, file = 0;
  };
  Whereabouts whereabouts() const;
  /// Those of all ranks. Returns whether this process can read the memory of all on its host.
  bool learn(std::vector<Whereabouts> all);
  /// Whether two ranks are on one host; to be asked after learn().
  bool on_one_host(std::uint32_t a, std::uint32_t b) const { return whereabouts_[a].host == whereabouts_[b].host; }
  /// Room for data that so many other ranks of this host will read, each once, when they have been told where: by begin and serial. Nothing where there are no more addresses. `kept`: what
  /// must live until then.
  struct Published {
    std::uint64_t begin = 0, serial = 0;
    char* data = nullptr;
    std::atomic<std::int64_t>* written = nullptr;  // Publication's
  };
  std::optional<Published> publish(std::int64_t size, std::uint32_t readers, std::shared_ptr<const void> kept = nullptr);
  /// All has been written, or is lost.
  void end_publishing(const Published& published) { publications_.written(published.begin); }
  /// Takes back what all have read.
  void take_back() {
    const std::lock_guard lock(mutex_);
    publications_.collect();
  }
  /// What a rank has published; nothing where it is not to be found.
  std::optional<Reading> published(std::uint32_t rank, std::uint64_t begin, std::uint64_t serial, std::int64_t size);

  /// Whether anybody has an operation open to this process that a message of this length may be the ticket of. Looks at no message.
  bool expects(std::int64_t length);

  /// Wants no more tickets, sends none, and waits until all that was sent has been received or never will be; `let_go_on()` is called
  /// all the time.
  template <class LetGoOn>
  void leave(LetGoOn&& let_go_on) {
    own_->greeting().leaving.store(1, std::memory_order_release);
    Patience patience;
    while (!all_received(patience.doubts())) {
      patience.wait();
      let_go_on();
    }
  }

 private:
  struct Peer {
    std::unique_ptr<Memory> memory;
    bool ready = false, lost = false;
    unsigned asked = 0;  // how often it was to be looked for
    std::array<std::bitset<slots>, 2> avoided;  // by whether of data in a GPU's memory
    Passing passing;
  };
  struct Offered {
    std::uint32_t slot;
    Region region;
    std::optional<std::uint32_t> place;  // of memory that it names
  };
  World(const Identity& self, std::unique_ptr<Memory> own, std::uint64_t most, std::uint64_t idle)
      : self_(self), own_(std::move(own)), regions_(*own_, most, idle), gpu_regions_(*own_, most), publications_(*own_, regions_), peers_(self.ranks) {}
  static constexpr unsigned most_looks = 64;  // each looks at all processes of the host
  Peer& peer(std::uint32_t rank);
  bool found(Peer& peer, std::uint32_t rank);
  void open_letters();
  void open_passed(std::uint32_t rank);
  void collect();
  std::optional<Outgoing> offer_slot(std::uint32_t receiver, std::int64_t size, int tag, bool gpu, Slot::Kind kind, const std::optional<Allocation>& named,
                                     std::span<const char> head);
  bool all_received(bool in_doubt);
  bool beside(std::uint32_t rank) const { return rank != self_.rank && on_one_host(rank, self_.rank); }
  bool nobody_reads();

  const Identity self_;
  const std::unique_ptr<Memory> own_;
  std::mutex mutex_;
  Regions regions_;
  GpuRegions gpu_regions_;
  Publications publications_;
  std::vector<Whereabouts> whereabouts_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Offered> offered_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t next_serial_ = 1;
  std::optional<std::mt19937_64> chance_;  // asking the kernel for every token would take as long as sending it
  std::atomic<std::uint32_t> answered_{0};
  std::function<bool(const Letter::Proof&)> check_;
  Take take_;
  std::unique_ptr<Post> post_;
};

}  // namespace dunnage::transport::shm
