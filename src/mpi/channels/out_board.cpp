#include "mpi/channels/out_board.hpp"

#include <new>
#include <unordered_map>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

using transport::gpu::ChannelBoard;

OutBoard::Seat OutBoard::seat(std::uint32_t receiver) {
  static std::unordered_map<std::uint32_t, std::weak_ptr<OutBoard>> latest;
  auto& last = latest[receiver];
  auto board = last.lock();
  if (!board || board->taken_ == ChannelBoard::seats) {
    const auto place = process->world->publications.publish(sizeof(ChannelBoard), ChannelBoard::seats, nullptr,
                                                            transport::shm::Publications::Stay::standing);
    if (!place) return {};
    last = board = std::make_shared<OutBoard>(*place);
  }
  const auto number = board->taken_++;
  return {std::move(board), number};
}

OutBoard::OutBoard(const transport::shm::Publications::Published& place) : place_(place) {
  new (place.data) ChannelBoard;
}

OutBoard::~OutBoard() {
  // A receiver that has not joined its channel may be about to look here, so its share stays.
  if (process->world) process->world->publications.end(place_, ChannelBoard::seats - taken_);
}

transport::gpu::ChannelWords OutBoard::words(std::uint32_t seat) const {
  return reinterpret_cast<ChannelBoard*>(place_.data)->seat(seat);
}

}  // namespace dunnage::mpi
