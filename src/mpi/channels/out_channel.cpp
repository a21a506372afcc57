#include "mpi/channels/out_channel.hpp"

#include <algorithm>
#include <chrono>

#include "mpi/process/process.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

using transport::gpu::Channel;
using transport::gpu::line_at;

namespace {

/// What a message that the MPI carries costs both ranks, about.
constexpr std::chrono::microseconds message_of_mpi{3};
constexpr unsigned most_doublings = 5;

}  // namespace

std::unique_ptr<OutChannel> OutChannel::make(std::uint32_t receiver) {
  auto& publications = process->world->publications;
  const auto place =
      publications.publish(transport::gpu::channel_size, 1, nullptr, transport::shm::Publications::Stay::standing);
  if (!place) return nullptr;
  auto seat = OutBoard::seat(receiver);
  if (seat.board) return std::make_unique<OutChannel>(receiver, *place, std::move(seat));
  publications.withdraw(*place);
  return nullptr;
}

OutChannel::OutChannel(std::uint32_t receiver, const OutLine::Published& place, OutBoard::Seat seat)
    : receiver_(receiver),
      to_itself_(static_cast<int>(receiver) == process->rank),
      place_(place),
      seat_(std::move(seat)),
      channel_(place.data, seat_.place(), *seat_.words().counts) {
  ++alive_;
  // All lines must be there before the receiver can look at one.
  for (std::uint64_t i = 0; i < Channel::depth; ++i) {
    const auto end = i == 0 ? seat_.words().first_line : transport::gpu::LineEnd{};
    lines_[i] = std::make_unique<OutLine>(receiver_, std::vector<std::size_t>{0}, line_at(place_.data, i), end);
    lines_[i]->watch_always();
  }
}

bool OutChannel::is_useless() {
  if (!is_named()) return false;
  if (channel_.is_left()) return true;
  return channel_.is_offered() && ++unjoined_ > most_unjoined && !channel_.close();
}

OutChannel::~OutChannel() {
  if (withdrawn_) {
    --alive_;
    if (process->world) process->world->publications.withdraw(place_);
    return;
  }
  // A receiver that has not joined may be about to look at the memory, which therefore stays.
  if (!channel_.close()) return;
  --alive_;
  if (process->world) process->world->publications.end(place_);
}

transport::gpu::ChannelSender::Sent OutChannel::send(base::FunctionRef<int(OutLine&)> take) {
  const auto sent = channel_.send([&](std::uint64_t message, std::uint8_t line) {
    auto& out = *lines_[line];
    return take(out) == MPI_SUCCESS && out.ready(exchange_of(message));
  });
  if (sent.rung) lines_[sent.line]->rung();
  return sent;
}

transport::gpu::ChannelSender::Sent OutChannel::send() {
  return channel_.send([](std::uint64_t, std::uint8_t) { return false; });
}

transport::ChannelStamp OutChannel::stamp(std::uint64_t message) const {
  return {place_.begin, place_.serial, message, static_cast<std::uint32_t>(process->rank)};
}

void OutChannel::wait_a_little() {
  if (to_itself_ || !channel_.receiver_counts()) return;
  if (channel_.awaited()) {
    if (in_vain_ > 0) --in_vain_;
    return;
  }
  if (left_out_ > 0) {
    --left_out_;
    return;
  }
  const auto end = std::chrono::steady_clock::now() + message_of_mpi;
  for (transport::shm::Patience patience; !channel_.awaited(); patience.wait())
    if (std::chrono::steady_clock::now() > end) {
      left_out_ = (1u << std::min(++in_vain_, most_doublings)) - 1;
      return;
    }
  in_vain_ = 0;
}

}  // namespace dunnage::mpi
