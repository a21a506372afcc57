// The way `self`: messages of a rank to itself, from layout to layout in one copy or by one kernel.
//
// The sender offers its buffer under a number. The MPI carries an announcement with that number and
// matches it as it would match the data. The receive that gets the announcement copies straight
// from the sender's buffer. If the send ends before a receive has come for the data, the sender
// parks a packed copy, and the receive takes that. So the sender never waits for a receive that may
// come later.
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <map>
#include <mutex>
#include <unordered_map>

#include "mpi/message/copy_within.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/ways/registry.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

using transport::Lengths;
using transport::Outbound;
using transport::Ticket;

/// How long a sender waits for another thread that may have the announcement: as long as parking
/// the data takes. Waiting in vain then costs at most twice the best time (the rule of ski rental).
std::chrono::nanoseconds patience_with_threads(std::int64_t bytes) {
  return std::min(std::chrono::nanoseconds(bytes / 8), std::chrono::nanoseconds(std::chrono::microseconds(50)));
}

/// The state of an offer. The receiver takes an offered buffer (`taken`), or what the sender has
/// parked. `ended`: the receiver needs nothing more from the sender.
enum class State { offered, taken, parking, parked, ended };

struct Offer {
  memory::Buffer buffer;
  std::int64_t bytes = 0;
  int tag = 0;
  transport::ChannelStamp stamp;
  std::uint64_t number = 0;  // names the offer in its announcement
  std::uint64_t turn = 0;    // offers are numbered in order, too
  std::int64_t length = 0;   // of the ticket; 0 if the announcement is a token
  std::atomic<State> state{State::offered};
  memory::Staging parked;   // a packed copy, valid from State::parked on
  int error = MPI_SUCCESS;  // of parking
};
using OfferPointer = std::shared_ptr<Offer>;

/// All offers that no receive has recognised. Any number of them share the lengths of tickets,
/// because the number in the ticket tells which one it is. Thread-safe.
class Offers {
 public:
  /// Null if ordinary messages have all lengths of tickets.
  OfferPointer make(const Outbound& message, bool token, const Lengths& lengths) {
    auto offer = std::make_shared<Offer>();
    offer->buffer = message.buffer;
    offer->bytes = message.bytes;
    offer->tag = message.tag;
    offer->stamp = message.stamp;
    const std::lock_guard lock(mutex_);
    if (next_number_ == 0 && getrandom(&next_number_, sizeof next_number_, 0) != sizeof next_number_) return nullptr;
    if (token) {
      process->tokens_to_self.fetch_add(1, std::memory_order_relaxed);
    } else {
      const auto index = next_length(lengths);
      if (!index) return nullptr;
      offer->length = lengths.of(*index);
      offer->turn = next_turn_++;
      of_length(offer->length).emplace(offer->turn, offer.get());
    }
    // Numbers are far apart and begin by chance, so that no data look like one.
    offer->number = next_number_ += 0x9E3779B97F4A7C15u;
    by_number_.emplace(offer->number, offer);
    return offer;
  }
  /// Removes the offer of that number and returns it. Null if there is none whose announcement has
  /// that length; `length` 0 stands for a token, whose message is as long as the data.
  OfferPointer take(std::uint64_t number, std::int64_t length, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = by_number_.find(number);
    if (found == by_number_.end() || found->second->length != length || found->second->bytes != bytes) return nullptr;
    return remove(found);
  }
  void withdraw(const Offer& offer) { take(offer.number, offer.length, offer.bytes); }
  bool expects(std::int64_t length) {
    const std::lock_guard lock(mutex_);
    return transport::ticket_length(length) && !of_length(length).empty();
  }
  /// The size of the data that the oldest ticket of that length and tag announces, if one is on its
  /// way.
  std::optional<std::int64_t> size_of(std::int64_t length, int tag) {
    const std::lock_guard lock(mutex_);
    for (const auto& [turn, offer] : of_length(length))
      if (offer->tag == tag) return offer->bytes;
    return std::nullopt;
  }
  void avoid(std::int64_t length) {
    const std::lock_guard lock(mutex_);
    if (transport::ticket_length(length)) avoided_[transport::gpu_lengths.has(length)].set(transport::index_of(length));
  }
  /// Removes the offer whose ticket of that length and tag the MPI has truncated, and returns it.
  /// Null if the message may have been an ordinary one, or another ticket.
  OfferPointer take_truncated(std::int64_t length, int tag) {
    const std::lock_guard lock(mutex_);
    if (!transport::host_lengths.has(length) || avoided_[false].test(transport::index_of(length))) return nullptr;
    const auto& waiting = of_length(length);
    if (waiting.size() != 1 || waiting.begin()->second->tag != tag) return nullptr;
    return remove(by_number_.find(waiting.begin()->second->number));
  }

 private:
  using Waiting = std::map<std::uint64_t, const Offer*>;  // by turn
  Waiting& of_length(std::int64_t length) {
    return waiting_[transport::gpu_lengths.has(length)][transport::index_of(length)];
  }
  /// A length that no other offer has, as long as there is one: probes and truncated messages are
  /// then told apart.
  std::optional<std::uint32_t> next_length(const Lengths& lengths) {
    const auto& avoided = avoided_[lengths.least == transport::gpu_lengths.least];
    for (const bool share : {false, true})
      for (std::uint32_t tried = 0; tried < transport::length_count; ++tried)
        if (const auto index = next_length_++ % transport::length_count;
            !avoided.test(index) && (share || of_length(lengths.of(index)).empty()))
          return index;
    return std::nullopt;
  }
  OfferPointer remove(std::unordered_map<std::uint64_t, OfferPointer>::iterator found) {
    auto offer = std::move(found->second);
    forget(*offer);
    by_number_.erase(found);
    return offer;
  }
  void forget(const Offer& offer) {
    if (offer.length == 0)
      process->tokens_to_self.fetch_sub(1, std::memory_order_relaxed);
    else
      of_length(offer.length).erase(offer.turn);
  }

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, OfferPointer> by_number_;
  // By whether the length is one of gpu_lengths.
  std::array<std::array<Waiting, transport::length_count>, 2> waiting_;
  std::array<std::bitset<transport::length_count>, 2> avoided_;
  std::uint32_t next_length_ = 0;
  std::uint64_t next_turn_ = 0;
  std::uint64_t next_number_ = 0;
};

/// Never destroyed: calls may come from destructors at exit.
Offers& offers() {
  static auto* all = new Offers;
  return *all;
}

/// The parked copy as a buffer.
memory::Buffer parked_buffer(const Offer& offer) {
  return memory::Buffer::contiguous(offer.parked.data(), offer.bytes);
}

class SelfSending : public transport::Sending {
 public:
  explicit SelfSending(OfferPointer offer) : offer_(std::move(offer)) {
    if (offer_->length == 0) {
      parcel_ = announce_token(offer_->number, offer_->bytes);
      return;
    }
    const auto rank = static_cast<std::uint32_t>(process->rank);
    const auto slot = transport::index_of(offer_->length);
    const Ticket ticket{Ticket::known_magic, offer_->number, offer_->bytes, rank, rank, slot, Ticket::self, {}};
    parcel_ = announce_ticket(ticket, offer_->length, std::span<const char>());
  }
  ~SelfSending() override {
    if (!moved_) cancel();
  }
  std::int64_t bytes() const override { return offer_->bytes; }
  // A nonblocking send should have a request of its own until finish(), so that all receives of an
  // exchange are posted by then. A standard send of an announcement is complete when it begins.
  bool synchronous(bool blocking) const override { return !blocking; }
  plan::GpuWay gpu_way() const override { return offer_->buffer.device() ? plan::GpuWay::self : plan::GpuWay::none; }
  int move(bool, base::FunctionRef<void()>) override {
    moved_ = holds_ = true;
    return MPI_SUCCESS;
  }
  bool holds_buffer() const override { return holds_; }
  bool finishes_alone() const override { return true; }
  int finish() override {
    if (!std::exchange(holds_, false) || state() == State::ended) return MPI_SUCCESS;
    progress_receives();
    transport::shm::Patience patience;
    const auto end = std::chrono::steady_clock::now() + patience_with_threads(offer_->bytes);
    while (threads_may_receive() && state() == State::offered && std::chrono::steady_clock::now() < end)
      patience.wait();
    for (auto offered = State::offered; state() != State::ended;) {
      if (offer_->state.compare_exchange_strong(offered, State::parking)) return park();
      offered = State::offered;
      patience.wait();  // another thread is copying
    }
    return MPI_SUCCESS;
  }
  void cancel() override {
    moved_ = true;
    holds_ = false;
    offers().withdraw(*offer_);
  }

 private:
  State state() const { return offer_->state.load(std::memory_order_acquire); }
  static bool threads_may_receive() {
    static const bool may = [] {
      int level = MPI_THREAD_MULTIPLE;
      return process->own.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE;
    }();
    return may;
  }
  int park() {
    const base::Range range("park a message to oneself", offer_->bytes);
    offer_->error = guarded([&] {
      offer_->parked = staging_for(offer_->buffer, offer_->bytes);
      if (!offer_->parked) throw std::bad_alloc();
      offer_->buffer.pack(offer_->parked.data(), 0, offer_->bytes);
    });
    offer_->state.store(State::parked, std::memory_order_release);
    return offer_->error;
  }

  const OfferPointer offer_;
  bool moved_ = false, holds_ = false;
};

class SelfArrival : public transport::Arrival {
 public:
  explicit SelfArrival(OfferPointer offer) : offer_(std::move(offer)) {}
  std::int64_t size() const override { return offer_->bytes; }
  transport::ChannelStamp stamp() const override { return offer_->stamp; }
  int fetch(const memory::Landing& landing) override {
    landing.restart();
    if (!take()) return fetch_parked(landing);
    const auto offer = offer_;
    return copy_within(offer->buffer, landing, offer->bytes, [offer] { end(*offer); });
  }
  void discard() override {
    if (!take()) wait_for_parking();
    end(*offer_);
  }

 private:
  static void end(Offer& offer) { offer.state.store(State::ended, std::memory_order_release); }
  bool take() {
    auto offered = State::offered;
    return offer_->state.compare_exchange_strong(offered, State::taken);
  }
  void wait_for_parking() const {
    for (transport::shm::Patience patience; offer_->state.load(std::memory_order_acquire) != State::parked;)
      patience.wait();
  }
  int fetch_parked(const memory::Landing& landing) {
    wait_for_parking();
    const int code = offer_->error != MPI_SUCCESS ? offer_->error : guarded([&] {
      copy_by_host(parked_buffer(*offer_), landing, offer_->bytes);
      landing.finish();
    });
    offer_->parked = {};
    end(*offer_);
    return code;
  }

  const OfferPointer offer_;
};

class SelfWay : public transport::Way {
 public:
  const char* name() const override { return "self"; }
  bool takes(const Outbound& message) override {
    if (message.receiver != static_cast<std::uint32_t>(process->rank)) return false;
    if (message.buffer.device()) {
      const auto path = process->settings.gpu_path;
      if (path == base::GpuPath::staged || path == base::GpuPath::pass) return false;
      return token(message) || message.bytes >= lengths(message).least_size();
    }
    if (message.buffer.packer() || message.bytes < transport::host_lengths.least_size()) return false;
    const bool always = process->settings.tickets == base::Tickets::always;
    return always || (message.contiguous ? process->scatters_to_self.load(std::memory_order_relaxed) : message.pays);
  }
  std::unique_ptr<transport::Sending> begin(const Outbound& message) override {
    if (!process->sends_to_self.load(std::memory_order_relaxed)) process->sends_to_self = true;
    const bool short_message = token(message);
    if (short_message) offers().avoid(message.bytes);  // its message is as long as the data
    auto offer = offers().make(message, short_message, lengths(message));
    if (!offer) return nullptr;
    auto sending = std::make_unique<SelfSending>(std::move(offer));
    return sending->parcel() ? std::move(sending) : nullptr;
  }

  bool expects(std::int64_t length) override {
    return process->sends_to_self.load(std::memory_order_relaxed) && offers().expects(length);
  }
  std::unique_ptr<transport::Arrival> recognise(const Ticket& ticket, std::int64_t length) override {
    const auto rank = static_cast<std::uint32_t>(process->rank);
    if (ticket.magic != Ticket::known_magic || ticket.way != Ticket::self || ticket.sender != rank) return nullptr;
    auto offer = offers().take(ticket.serial, length, ticket.size);
    return offer ? std::make_unique<SelfArrival>(std::move(offer)) : nullptr;
  }
  bool expects_token() override { return process->tokens_to_self.load(std::memory_order_relaxed) != 0; }
  std::unique_ptr<transport::Arrival> recognise(std::uint64_t number, std::int64_t length) override {
    auto offer = offers().take(number, 0, length);
    if (!offer) return nullptr;
    process->tokens.fetch_add(1, std::memory_order_relaxed);
    return std::make_unique<SelfArrival>(std::move(offer));
  }
  std::optional<std::int64_t> size_of(std::uint32_t sender, std::int64_t length, int tag) override {
    return sender == static_cast<std::uint32_t>(process->rank) ? offers().size_of(length, tag) : std::nullopt;
  }
  void avoid(std::uint32_t receiver, std::int64_t length) override {
    if (receiver == static_cast<std::uint32_t>(process->rank)) offers().avoid(length);
  }
  void truncated(std::uint32_t sender, std::int64_t length, int tag) override {
    if (sender != static_cast<std::uint32_t>(process->rank)) return;
    if (auto offer = offers().take_truncated(length, tag)) SelfArrival(std::move(offer)).discard();
  }

 private:
  /// Short data in device memory are announced by a token, if every receive looks for tokens.
  static bool token(const Outbound& message) {
    return message.buffer.device() && message.bytes < lengths(message).least_size() &&
           transport::token_length(message.bytes) && process->takes_tokens.load(std::memory_order_relaxed);
  }
  /// The short tickets of data in device memory need receives that have been looked at since
  /// MPI_Init.
  static const Lengths& lengths(const Outbound& message) {
    return message.buffer.device() && process->brief ? transport::gpu_lengths : transport::host_lengths;
  }
};

}  // namespace

transport::Way& self_way() {
  static auto* way = new SelfWay;
  return *way;
}

}  // namespace dunnage::mpi
