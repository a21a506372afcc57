// The way `gpu_direct`: device memory between two ranks of one host whose GPUs read each other.
//
// The receiver's GPU reads the sender's memory. The sender depends on its receiver for no longer
// than a moment: if the receiver has the announcement but does not come for the data, the sender
// packs them into shared memory and is done. Memory that must not be read where it is (of pools,
// managed, layouts that are no nest of loops, virtual memory that the receiver does not hold yet)
// is packed into device memory of ours first. So is much data in short blocks for another GPU.
#include <chrono>
#include <cstring>

#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/ways/gpu_offer.hpp"
#include "mpi/ways/registry.hpp"

namespace dunnage::mpi {
namespace {

using transport::Outbound;
using transport::Ticket;
using transport::gpu::GpuSource;

/// How long a sender waits for a receiver that has the announcement: as long as the data take by
/// way of host memory. Waiting in vain then costs at most twice the best time (the rule of ski
/// rental).
std::chrono::nanoseconds patience_with_receiver(std::int64_t bytes) {
  return std::chrono::microseconds(transport::token_length(bytes) ? 10 : 100) + std::chrono::nanoseconds(bytes / 4);
}

class DirectSending : public transport::Sending {
 public:
  DirectSending(const transport::shm::Outgoing& outgoing, const Outbound& message, GpuOffer offer)
      : outgoing_(outgoing), buffer_(message.buffer), offer_(std::move(offer)) {
    parcel_ = outgoing.token() ? announce_token(outgoing.token(), outgoing.length())
                               : announce_ticket(outgoing.ticket(), outgoing.length(), offer_.head);
  }
  ~DirectSending() override {
    if (!moved_) outgoing_.cancel();
  }
  std::int64_t bytes() const override { return buffer_.size(); }
  bool synchronous(bool) const override { return true; }
  plan::GpuWay gpu_way() const override { return offer_.memory ? plan::GpuWay::direct_packed : plan::GpuWay::direct; }
  int move(bool, base::FunctionRef<void()>) override {
    moved_ = true;
    const int code = guarded([&] {
      if (offer_.address) buffer_.pack(reinterpret_cast<char*>(offer_.address), 0, buffer_.size());
    });
    if (code == MPI_SUCCESS)
      outgoing_.ready();
    else
      outgoing_.fail();
    holds_ = code == MPI_SUCCESS;
    return code;
  }
  bool holds_buffer() const override { return holds_; }
  int finish() override {
    if (!std::exchange(holds_, false)) return MPI_SUCCESS;
    const base::Range range("wait for the receiver", buffer_.size());
    // If there is no room in shared memory the receiver is waited for. It has the announcement or
    // will have it, but it may be in a call that waits for this process.
    constexpr int long_enough = 10;
    bool room = false;
    for (int times = 0; !outgoing_.await(patience_with_receiver(buffer_.size()), progress_receives); ++times) {
      room = room || process->world->rendezvous.make_room(outgoing_, times >= long_enough);
      if (room && outgoing_.take_over()) return pack_shared(outgoing_, buffer_, false, [] {});
    }
    return MPI_SUCCESS;
  }
  void cancel() override {
    holds_ = false;
    outgoing_.cancel();
  }

 private:
  const transport::shm::Outgoing outgoing_;
  const memory::Buffer buffer_;
  const GpuOffer offer_;
  bool moved_ = false, holds_ = false;
};

class DirectArrival : public transport::Arrival {
 public:
  DirectArrival(const transport::shm::Incoming& incoming, std::int64_t size)
      : incoming_(incoming), size_(size), stamp_(incoming.stamp()) {}
  std::int64_t size() const override { return size_; }
  transport::ChannelStamp stamp() const override { return stamp_; }
  int fetch(const memory::Landing& landing) override try {
    GpuSource source;
    if (const auto* head = incoming_.head())
      std::memcpy(&source, head, sizeof source);
    else
      landing.read(&source, 0, sizeof source);
    if (!incoming_.claim()) return fetch_packed(landing);
    const auto* driver = device::driver();
    if (!driver || source.size != size_) throw std::bad_alloc();
    const auto there = destination(*driver, landing, source);
    if (there.to) return fetch_to_device(move_of(*driver, source, there));
    const device::Scope scope(*driver, there.context);
    fetch_to_host(*driver, transport::gpu::Remote(*driver, source), landing);
    landing.finish();
    incoming_.discard();
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    incoming_.discard();
    return code_of_current_exception();
  }
  void discard() override { incoming_.discard(); }

 private:
  DeviceFetch move_of(const device::Driver& driver, const GpuSource& source, const Destination& there) const {
    const device::Scope scope(driver, there.context);
    auto remote = std::make_shared<const transport::gpu::Remote>(driver, source);
    const auto incoming = incoming_;
    return {there.context,
            std::make_shared<const transport::gpu::Transfers::Move>(
                transport::gpu::Transfers::move(std::move(remote), *there.to)),
            [incoming] { incoming.discard(); }};
  }
  /// The sender has packed the data into shared memory, or has failed.
  int fetch_packed(const memory::Landing& landing) const {
    if (incoming_.failed()) {
      incoming_.discard();
      return MPI_ERR_OTHER;
    }
    const auto place = [&](const char* from, std::int64_t begin, std::int64_t end) { landing.place(from, begin, end); };
    const auto by_device = [&] {
      return with_pipe(pack::gpu::Direction::unpack, landing.buffer, incoming_.gpu_ring(),
                       [&](auto&& pipe) { return incoming_.fetch_by(pipe); });
    };
    const bool all = landing.buffer.device() ? by_device() : incoming_.fetch(place);
    landing.finish();
    return all ? MPI_SUCCESS : MPI_ERR_OTHER;
  }

  const transport::shm::Incoming incoming_;
  const std::int64_t size_;
  const transport::ChannelStamp stamp_;
};

class DirectWay : public transport::Way {
 public:
  const char* name() const override { return "gpu_direct"; }
  bool takes(const Outbound& message) override { return message.gpu_way == plan::GpuWay::direct; }
  std::unique_ptr<transport::Sending> begin(const Outbound& message) override {
    auto& world = *process->world;
    if (!world.peers.reaches(message.receiver)) return nullptr;
    auto offer = gpu_offer(message.buffer, message.receiver);
    if (offer.head.empty()) return nullptr;
    const bool token = message.bytes < world.rendezvous.gpu_lengths_to(message.receiver).least_size();
    if (token) world.rendezvous.avoid(message.receiver, message.bytes);
    const auto outgoing =
        token ? world.tokens.offer(message.receiver, message.bytes, message.tag, offer.head, offer.named, message.stamp)
              : world.rendezvous.offer(message.receiver, message.bytes, message.tag, true, offer.named, message.stamp);
    if (!outgoing) return nullptr;
    auto sending = std::make_unique<DirectSending>(*outgoing, message, std::move(offer));
    return sending->parcel() ? std::move(sending) : nullptr;
  }

  bool expects(std::int64_t length) override {
    return gpu_announcements() && process->world && process->world->rendezvous.expects(length);
  }
  std::unique_ptr<transport::Arrival> recognise(const Ticket& ticket, std::int64_t length) override {
    if (!process->world || ticket.way != Ticket::gpu) return nullptr;
    const auto incoming = process->world->rendezvous.recognise(ticket, length);
    return incoming ? std::make_unique<DirectArrival>(*incoming, ticket.size) : nullptr;
  }
  bool expects_token() override { return process->world && process->world->tokens.expected(); }
  std::unique_ptr<transport::Arrival> recognise(std::uint64_t token, std::int64_t length) override {
    const auto incoming = process->world ? process->world->tokens.recognise(token, length) : std::nullopt;
    if (!incoming) return nullptr;
    process->tokens.fetch_add(1, std::memory_order_relaxed);
    return std::make_unique<DirectArrival>(*incoming, length);
  }
};

}  // namespace

transport::Way& gpu_direct_way() {
  static auto* way = new DirectWay;
  return *way;
}

}  // namespace dunnage::mpi
