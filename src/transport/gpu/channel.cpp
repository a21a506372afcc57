#include "transport/gpu/channel.hpp"

#include <algorithm>
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

bool join(Channel& channel) {
  auto use = std::uint32_t{Channel::offered};
  return channel.use.compare_exchange_strong(use, Channel::joined, std::memory_order_acq_rel);
}

ChannelSender::ChannelSender(void* memory, const BoardSeat& seat, std::atomic<std::uint64_t>& counts)
    : channel_(new (memory) Channel{.seat = seat}), counts_(counts) {}

bool ChannelSender::awaited() const {
  return beyond(begun_of(counts_.load(std::memory_order_relaxed)), static_cast<std::uint32_t>(sent_));
}

void ChannelSender::mark(std::uint8_t line, bool ready) {
  const auto marks = channel_->ready.load(std::memory_order_relaxed);
  const auto bit = std::uint32_t{1} << line;
  if (((marks & bit) != 0) != ready) channel_->ready.store(marks ^ bit, std::memory_order_relaxed);
}

ChannelSender::Sent ChannelSender::send(base::FunctionRef<bool(std::uint64_t, std::uint8_t)> ready) {
  Sent sent{sent_++, false, false, 0};
  const auto& line = channel_->lines[sent.number % Channel::depth];
  auto counts = counts_.load(std::memory_order_acquire);
  do {
    sent.awaited = beyond(begun_of(counts), sent_of(counts));
    if (!sent.awaited) continue;
    sent.line = line;
    sent.rung = ready(sent.number, sent.line);
    mark(sent.line, sent.rung);
  } while (!counts_.compare_exchange_weak(counts, counts_of(sent_, begun_of(counts)), std::memory_order_acq_rel,
                                          std::memory_order_acquire));
  if (!sent.awaited || !channel_->taken_back.load(std::memory_order_relaxed)) {
    sent.rung = sent.rung && sent.awaited;
    return sent;
  }
  return {sent.number, true, false, line};
}

bool ChannelSender::receiver_counts() const { return begun_of(counts_.load(std::memory_order_relaxed)) != 0; }

bool ChannelSender::receiver_learns() const {
  return channel_->use.load(std::memory_order_relaxed) == Channel::joined && !receiver_counts();
}

void ChannelSender::matched(std::uint64_t message) {
  // Receive number message + shift is one of those that have begun.
  const auto begun = channel_->begun.load(std::memory_order_acquire);
  const auto most = begun - 1 - static_cast<std::int64_t>(message);
  if (most < channel_->most_shift.load(std::memory_order_relaxed))
    channel_->most_shift.store(most, std::memory_order_release);
}

bool ChannelSender::close() {
  auto use = std::uint32_t{Channel::offered};
  channel_->use.compare_exchange_strong(use, Channel::closed, std::memory_order_acq_rel);
  return use == Channel::joined || use == Channel::left;
}

void ChannelReceiver::count(std::uint64_t counted) {
  counted_ = counted;
  auto counts = counts_.load(std::memory_order_relaxed);
  while (!counts_.compare_exchange_weak(counts, counts_of(sent_of(counts), counted_), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
  }
}

std::int64_t ChannelReceiver::begin_uncounted() {
  const auto number = channel_->begun.load(std::memory_order_relaxed);
  channel_->begun.store(number + 1, std::memory_order_release);
  return number;
}

std::optional<std::uint64_t> ChannelReceiver::message_of(std::int64_t receive) {
  // Its message, number receive - shift, is one of those that have been counted.
  const std::int64_t sent = sent_of(counts_.load(std::memory_order_acquire));
  least_shift_ = std::max(least_shift_, receive + 1 - sent);
  if (channel_->most_shift.load(std::memory_order_acquire) != least_shift_) return std::nullopt;
  return static_cast<std::uint64_t>(receive - least_shift_);
}

void ChannelReceiver::begin(std::uint64_t matched) { count(matched); }

ChannelReceiver::Begun ChannelReceiver::receive(std::uint8_t line) {
  const auto number = counted_++;
  auto& place = channel_->lines[number % Channel::depth];
  if (place != line) place = line;
  auto counts = counts_.load(std::memory_order_relaxed);
  while (!counts_.compare_exchange_weak(counts, counts_of(sent_of(counts), counted_), std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
  }
  return {number, !beyond(sent_of(counts), static_cast<std::uint32_t>(number))};
}

void ChannelReceiver::received_by_mpi() { count(counted_ + 1); }

ChannelReceiver::News ChannelReceiver::news(std::uint64_t number, std::uint8_t line) const {
  const auto counts = counts_.load(std::memory_order_acquire);
  if (!beyond(sent_of(counts), static_cast<std::uint32_t>(number))) return News::none;
  const bool marked = channel_->ready.load(std::memory_order_relaxed) >> line & 1;
  return marked && number < by_lines_from_ ? News::rung : News::ask_line;
}

bool ChannelReceiver::take_back(std::uint64_t number) {
  channel_->taken_back.store(1, std::memory_order_relaxed);
  const auto left = counted_ - 1;
  auto counts = counts_.load(std::memory_order_acquire);
  do {
    if (beyond(sent_of(counts), static_cast<std::uint32_t>(number))) return false;
  } while (!counts_.compare_exchange_weak(counts, counts_of(sent_of(counts), left), std::memory_order_acq_rel,
                                          std::memory_order_acquire));
  counted_ = left;
  by_lines_from_ = std::min(by_lines_from_, number);
  return true;
}

}  // namespace dunnage::transport::gpu
