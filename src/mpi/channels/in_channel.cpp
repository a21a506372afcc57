#include "mpi/channels/in_channel.hpp"

#include <algorithm>
#include <utility>

#include "mpi/channels/out_channel.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {
namespace {

/// A program most often has one buffer for the messages of a channel, or two in turn. A message to
/// a further buffer takes the line that has been idle longest.
constexpr std::uint8_t buffers_known = 4;

using transport::gpu::Channel;
using transport::gpu::line_at;
using transport::shm::Reading;

char* data_of(const Reading& reading) { return const_cast<char*>(reading.data()); }
Channel& channel_in(const Reading& place) { return *reinterpret_cast<Channel*>(data_of(place)); }
transport::gpu::ChannelWords words_of(const Channel& channel, const Reading& board) {
  return reinterpret_cast<transport::gpu::ChannelBoard*>(data_of(board))->seat(channel.seat.number);
}

}  // namespace

std::unique_ptr<InChannel> InChannel::join(std::uint32_t sender, const transport::shm::Offered& place,
                                           std::uint64_t turn) {
  auto& world = *process->world;
  auto found = world.published(sender, place.begin, place.serial, transport::gpu::channel_size);
  if (!found || !transport::gpu::join(channel_in(*found))) return nullptr;
  const auto seat = channel_in(*found).seat;
  auto board = seat.number < transport::gpu::ChannelBoard::seats
                   ? world.published(sender, seat.begin, seat.serial, sizeof(transport::gpu::ChannelBoard))
                   : std::nullopt;
  if (board) return std::make_unique<InChannel>(sender, place.serial, std::move(*found), std::move(*board), turn);
  transport::gpu::leave(channel_in(*found));
  return nullptr;
}

InChannel::InChannel(std::uint32_t sender, std::uint64_t serial, transport::shm::Reading place,
                     transport::shm::Reading board, std::uint64_t turn)
    : sender_(sender),
      serial_(serial),
      place_(std::make_unique<transport::shm::Reading>(std::move(place))),
      board_(std::make_unique<transport::shm::Reading>(std::move(board))),
      channel_(data_of(*place_), *words_of(channel_in(*place_), *board_).counts),
      since_(turn) {
  if (counted_as_learning_) ++all_learning_;
  for (std::uint64_t i = 0; i < Channel::depth; ++i) {
    const auto end = i == 0 ? words_of(channel_in(*place_), *board_).first_line : transport::gpu::LineEnd{};
    lines_[i] = std::make_unique<InLine>(sender_, std::vector<std::size_t>{0}, line_at(data_of(*place_), i), end);
  }
}

InChannel::~InChannel() {
  learnt();
  if (process->world) return;
  // The sender's memory is no longer mapped.
  (void)place_.release();
  (void)board_.release();
}

std::int64_t InChannel::begin_by_mpi() {
  ++by_mpi_;
  return learning_ ? channel_.begin_uncounted() : 0;
}

std::optional<std::uint64_t> InChannel::message_of(std::int64_t receive) {
  if (!learning_ || hopeless_ || !named_) return std::nullopt;
  const auto message = channel_.message_of(receive);
  if (!message && receive >= most_learnt_from) cannot_learn();
  return message;
}

void InChannel::cannot_learn() {
  if (!named_ || !learning_) return;
  hopeless_ = true;
  learnt();
}

void InChannel::learnt() {
  if (std::exchange(counted_as_learning_, false)) --all_learning_;
}

void InChannel::got(std::uint64_t turn, std::optional<std::uint64_t> message) {
  if (turn < since_) return;
  if (named_ && ++by_mpi_in_a_row_ > most_by_mpi) hopeless_ = true;
  if (!learning_) return channel_.received_by_mpi();
  if (!message) return got_.push_back(turn);
  const auto later = std::count_if(got_.begin(), got_.end(), [&](std::uint64_t other) { return other > turn; });
  channel_.begin(*message + 1 + static_cast<std::uint64_t>(later));
  since_ = turn;
  got_.clear();
  learning_ = false;
  learnt();
}

std::optional<std::uint8_t> InChannel::free_line(const Side& side) const {
  std::optional<std::uint8_t> unused, oldest;
  for (std::uint8_t i = 0; i < Channel::depth; ++i) {
    const auto& line = *lines_[i];
    if (line.exchange() == 0) {  // nor has any line behind it been used
      unused = i;
      break;
    }
    if (!line.ended()) continue;
    if (line.buffers().is(side)) return i;
    if (!oldest || line.exchange() < lines_[*oldest]->exchange()) oldest = i;
  }
  return oldest && (!unused || *unused >= buffers_known) ? oldest : unused;
}

InChannel::Begun InChannel::begin(ChannelReceive& wait, const Side& side) {
  if (learning_ || by_mpi_ > 0) return Begun::uncounted;
  const auto chosen = free_line(side);
  if (!chosen) return Begun::uncounted;
  const auto [message, by_channel] = channel_.receive(*chosen);
  if (!by_channel) return Begun::by_mpi;
  auto& line = *lines_[*chosen];
  line.begin_again(exchange_of(message));
  idle_ = by_mpi_in_a_row_ = 0;
  wait = {message, &line, *chosen};
  waits_.push_back(&wait);
  return Begun::by_channel;
}

bool InChannel::has_come(const ChannelReceive& wait) {
  using News = transport::gpu::ChannelReceiver::News;
  const auto news = channel_.news(wait.message, wait.number);
  if (news == News::rung) wait.line->rung();
  return news != News::none && wait.line->news() == InLine::News::rung;
}

void InChannel::end_wait(const ChannelReceive& wait) { std::erase(waits_, &wait); }

bool InChannel::take_back(const ChannelReceive& wait) {
  if (!channel_.take_back(wait.message)) return false;
  auto place = std::find(waits_.begin(), waits_.end(), &wait);
  for (place = waits_.erase(place); place != waits_.end(); ++place) {
    auto& later = **place;
    const auto number = channel_.line(later.message - 1);
    auto& line = *lines_[number];
    line.swap_buffers(*later.line);
    later = {later.message - 1, &line, number};
  }
  lines_[channel_.line(channel_.counted())]->forget();
  return true;
}

}  // namespace dunnage::mpi
