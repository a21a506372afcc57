// The way `ticket`: host memory, between two ranks of one host.
//
// The sender packs into its shared memory, chunk by chunk, while the receiver unpacks from there.
// The announcement carries the first bytes of the data.
#include "mpi/message/buffer.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/ways/registry.hpp"

namespace dunnage::mpi {
namespace {

using transport::Outbound;
using transport::Ticket;

class TicketSending : public transport::Sending {
 public:
  TicketSending(const transport::shm::Outgoing& outgoing, const memory::Buffer& buffer)
      : outgoing_(outgoing), buffer_(buffer) {
    parcel_ = announce_ticket(outgoing.ticket(), outgoing.length(), buffer, outgoing.carried());
  }
  ~TicketSending() override {
    if (!moved_) outgoing_.cancel();
  }
  std::int64_t bytes() const override { return buffer_.size(); }
  int move(bool travels, base::FunctionRef<void()> let_go_on) override {
    moved_ = true;
    const auto pack = [&](char* to, std::int64_t begin, std::int64_t end) { buffer_.pack(to, begin, end); };
    outgoing_.run(travels, pack, let_go_on);
    return MPI_SUCCESS;
  }
  void cancel() override { outgoing_.cancel(); }

 private:
  const transport::shm::Outgoing outgoing_;
  const memory::Buffer buffer_;
  bool moved_ = false;
};

class TicketArrival : public transport::Arrival {
 public:
  TicketArrival(const transport::shm::Incoming& incoming, const Ticket& ticket, std::int64_t length)
      : incoming_(incoming), ticket_(ticket), carried_(length - static_cast<std::int64_t>(sizeof(Ticket))) {}
  std::int64_t size() const override { return ticket_.size; }
  int fetch(const memory::Landing& landing) override try {
    // Contiguous messages from that rank gain nothing by this way.
    if (landing.contiguous()) process->world->peers.tell_scatters(ticket_.sender, false);
    landing.settle(carried_);
    const bool all = incoming_.fetch(
        [&](const char* from, std::int64_t begin, std::int64_t end) { landing.place(from, begin, end); });
    landing.finish();
    return all ? MPI_SUCCESS : MPI_ERR_OTHER;  // the sender died
  } catch (const std::exception&) {
    incoming_.discard();
    return code_of_current_exception();
  }
  void discard() override { incoming_.discard(); }

 private:
  const transport::shm::Incoming incoming_;
  const Ticket ticket_;
  const std::int64_t carried_;
};

class TicketWay : public transport::Way {
 public:
  const char* name() const override { return "ticket"; }
  bool takes(const Outbound& message) override {
    auto* world = process->world.get();
    if (message.buffer.packer() || !world || message.bytes < transport::host_lengths.least_size()) return false;
    if (static_cast<std::uint64_t>(message.bytes) > process->settings.ticket_memory || !message.pays) return false;
    return !message.contiguous || process->settings.tickets == base::Tickets::always ||
           world->peers.scatters(message.receiver);
  }
  std::unique_ptr<transport::Sending> begin(const Outbound& message) override {
    auto& world = *process->world;
    if (!world.peers.reaches(message.receiver)) return nullptr;
    const auto outgoing = world.rendezvous.offer(message.receiver, message.bytes, message.tag);
    if (!outgoing) return nullptr;
    auto sending = std::make_unique<TicketSending>(*outgoing, message.buffer);
    return sending->parcel() ? std::move(sending) : nullptr;
  }

  // The ranks' shared memory knows the tickets of data in host memory and in device memory alike.
  bool expects(std::int64_t length) override { return process->world && process->world->rendezvous.expects(length); }
  std::unique_ptr<transport::Arrival> recognise(const Ticket& ticket, std::int64_t length) override {
    if (!process->world || ticket.way != Ticket::shared_memory) return nullptr;
    const auto incoming = process->world->rendezvous.recognise(ticket, length);
    return incoming ? std::make_unique<TicketArrival>(*incoming, ticket, length) : nullptr;
  }
  std::optional<std::int64_t> size_of(std::uint32_t sender, std::int64_t length, int tag) override {
    if (!process->world) return std::nullopt;
    const auto size = process->world->rendezvous.size_of(sender, length, tag);
    return size != length ? std::optional(size) : std::nullopt;
  }
  void avoid(std::uint32_t receiver, std::int64_t length) override {
    if (process->world) process->world->rendezvous.avoid(receiver, length);
  }
  void truncated(std::uint32_t sender, std::int64_t length, int tag) override {
    if (!process->world) return;
    if (const auto incoming = process->world->rendezvous.truncated(sender, length, tag)) incoming->discard();
  }
};

}  // namespace

transport::Way& ticket_way() {
  static auto* way = new TicketWay;
  return *way;
}

}  // namespace dunnage::mpi
