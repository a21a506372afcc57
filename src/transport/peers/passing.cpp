#include "transport/peers/passing.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace dunnage::transport::peers {

Places& Passing::places(std::uint32_t rank) {
  auto& places = places_[rank];
  if (!places) places = std::make_unique<Places>();
  return *places;
}

Hold Passing::held(std::uint32_t rank, const Allocation& memory) {
  const std::lock_guard lock(mutex_);
  return places(rank).held(memory, mailbox_at(rank));
}

void Passing::pass(std::uint32_t rank, const Allocation& memory, const decltype(Label::bytes)& bytes,
                   const std::function<base::Descriptor()>& make) {
  auto& there = peers_.memory(rank)->header();
  if (there.takes_descriptors.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(mutex_);
  if (!socket_) return;
  const auto place = places(rank).begin(memory, mailbox_at(rank));
  if (!place) return;
  lock.unlock();
  base::Descriptor file;
  try {
    file = make();
  } catch (...) {
    lock.lock();
    places(rank).finish(*place, Places::Sent::not_now);
    throw;
  }
  lock.lock();
  const auto serial = next_serial_++;
  const bool sent =
      file && socket_->send({there.socket[0], there.socket[1]}, {peers_.self().rank, *place, serial, bytes}, file);
  places(rank).finish(*place, !file ? Places::Sent::never : sent ? Places::Sent::yes : Places::Sent::not_now);
  if (!sent) return;
  auto& passed = mailbox_at(rank).passed[*place];
  passed.serial = serial;
  passed.state.store(Mailbox::asked, std::memory_order_release);
  there.requests.fetch_add(1, std::memory_order_release);
}

void Passing::take_with(Take take) {
  const std::lock_guard lock(mutex_);
  if (socket_ || !(socket_ = DescriptorSocket::open())) return;
  take_ = std::move(take);
  auto& header = own_.header();
  std::copy(socket_->name().begin(), socket_->name().end(), header.socket);
  header.takes_descriptors.store(1, std::memory_order_release);
}

void Passing::answer(std::uint32_t rank) {
  if (own_.header().takes_descriptors.load(std::memory_order_relaxed) == 0) return;
  const auto* memory = peers_.memory(rank);
  for (std::uint32_t i = 0; i < Mailbox::places; ++i) {
    auto& place = own_.mailbox(rank).passed[i];
    if (place.state.load(std::memory_order_acquire) != Mailbox::asked) continue;
    std::unique_lock lock(mutex_);
    // The descriptor was sent before the mailbox said so: if it is not here now, it will not come.
    auto passed = memory ? socket_->take(memory->header().process, rank, i, place.serial) : std::nullopt;
    const auto take = take_;
    lock.unlock();
    const bool holds = passed && take(rank, i, std::move(*passed));
    place.state.store(holds ? Mailbox::accepted : Mailbox::refused, std::memory_order_release);
  }
}

}  // namespace dunnage::transport::peers
