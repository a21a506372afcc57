// The way `gpu_ring`: device memory between two ranks of one host whose GPUs do not read each
// other.
//
// The sender's GPU packs into page-locked rings in shared memory, from where the receiver unpacks.
// The receiver's end is that of the way `gpu_direct`, whose sender may turn to a ring too.
#include "mpi/message/gpu_shared.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/ways/registry.hpp"

namespace dunnage::mpi {
namespace {

using transport::Outbound;

class RingSending : public transport::Sending {
 public:
  RingSending(const transport::shm::Outgoing& outgoing, const Outbound& message)
      : outgoing_(outgoing), buffer_(message.buffer), way_(message.gpu_way) {
    parcel_ = announce_ticket(outgoing.ticket(), outgoing.length(), std::span<const char>());
  }
  ~RingSending() override {
    if (!moved_) outgoing_.cancel();
  }
  std::int64_t bytes() const override { return buffer_.size(); }
  plan::GpuWay gpu_way() const override { return way_; }
  int move(bool travels, base::FunctionRef<void()> let_go_on) override {
    moved_ = true;
    return pack_shared(outgoing_, buffer_, travels, let_go_on);
  }
  void cancel() override { outgoing_.cancel(); }

 private:
  const transport::shm::Outgoing outgoing_;
  const memory::Buffer buffer_;
  const plan::GpuWay way_;
  bool moved_ = false;
};

class RingWay : public transport::Way {
 public:
  const char* name() const override { return "gpu_ring"; }
  bool takes(const Outbound& message) override { return by_rings(message.gpu_way); }
  std::unique_ptr<transport::Sending> begin(const Outbound& message) override {
    auto& world = *process->world;
    if (!world.peers.reaches(message.receiver)) return nullptr;
    const auto outgoing = world.rendezvous.offer(message.receiver, message.bytes, message.tag, true);
    if (!outgoing) return nullptr;
    outgoing->pack_always();
    auto sending = std::make_unique<RingSending>(*outgoing, message);
    return world.rendezvous.make_room(*outgoing) && sending->parcel() ? std::move(sending) : nullptr;
  }
};

}  // namespace

transport::Way& gpu_ring_way() {
  static auto* way = new RingWay;
  return *way;
}

}  // namespace dunnage::mpi
