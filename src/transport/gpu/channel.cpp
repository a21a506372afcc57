#include "transport/gpu/channel.hpp"

#include <new>

namespace dunnage::transport::gpu {
namespace {

constexpr int half = 32;
constexpr std::uint32_t sent_of(std::uint64_t counts) { return static_cast<std::uint32_t>(counts); }
constexpr std::uint32_t begun_of(std::uint64_t counts) { return static_cast<std::uint32_t>(counts >> half); }
constexpr std::uint64_t counts_of(std::uint64_t sent, std::uint64_t begun) {
  return begun << half | static_cast<std::uint32_t>(sent);
}
/// Whether `a` is beyond `b`, though counts begin again at 0 after 2^32 messages.
constexpr bool beyond(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

}  // namespace

ChannelSender::ChannelSender(void* memory) : channel_(new (memory) Channel) {}

bool ChannelSender::awaited() const {
  return beyond(begun_of(channel_->counts.load(std::memory_order_relaxed)), static_cast<std::uint32_t>(sent_));
}

ChannelSender::Sent ChannelSender::send() {
  const auto number = sent_++;
  auto counts = channel_->counts.load(std::memory_order_acquire);
  while (!channel_->counts.compare_exchange_weak(counts, counts_of(sent_, begun_of(counts)), std::memory_order_acq_rel,
                                                 std::memory_order_acquire)) {
  }
  if (!beyond(begun_of(counts), sent_of(counts))) return {number, false, 0};
  return {number, true, channel_->lines[number % Channel::depth]};
}

bool ChannelSender::close() {
  auto use = std::uint32_t{Channel::offered};
  channel_->use.compare_exchange_strong(use, Channel::closed, std::memory_order_acq_rel);
  return use == Channel::joined;
}

bool ChannelReceiver::join() {
  auto use = std::uint32_t{Channel::offered};
  return channel_->use.compare_exchange_strong(use, Channel::joined, std::memory_order_acq_rel);
}

void ChannelReceiver::count(std::uint64_t counted) {
  counted_ = counted;
  auto counts = channel_->counts.load(std::memory_order_relaxed);
  while (!channel_->counts.compare_exchange_weak(counts, counts_of(sent_of(counts), counted_),
                                                 std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
}

void ChannelReceiver::begin(std::uint64_t matched) { count(matched); }

ChannelReceiver::Begun ChannelReceiver::receive(std::uint8_t line) {
  const auto number = counted_++;
  auto& place = channel_->lines[number % Channel::depth];
  if (place != line) place = line;
  auto counts = channel_->counts.load(std::memory_order_relaxed);
  while (!channel_->counts.compare_exchange_weak(counts, counts_of(sent_of(counts), counted_),
                                                 std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  return {number, !beyond(sent_of(counts), static_cast<std::uint32_t>(number))};
}

void ChannelReceiver::received_by_mpi() { count(counted_ + 1); }

bool ChannelReceiver::take_back(std::uint64_t number) {
  const auto left = counted_ - 1;
  auto counts = channel_->counts.load(std::memory_order_acquire);
  do {
    if (beyond(sent_of(counts), static_cast<std::uint32_t>(number))) return false;
  } while (!channel_->counts.compare_exchange_weak(counts, counts_of(sent_of(counts), left), std::memory_order_acq_rel,
                                                   std::memory_order_acquire));
  counted_ = left;
  return true;
}

}  // namespace dunnage::transport::gpu
