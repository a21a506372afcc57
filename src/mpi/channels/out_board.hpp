// A board (transport/gpu/channel_board.hpp) for the channels from this rank to one receiver.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/gpu/channel_board.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// Not thread-safe.
class OutBoard {
 public:
  struct Seat {
    std::shared_ptr<OutBoard> board;
    std::uint32_t number = 0;
    transport::gpu::ChannelWords words() const { return board->words(number); }
    /// Where the receiver finds it.
    transport::gpu::BoardSeat place() const { return {board->place_.begin, board->place_.serial, number}; }
  };
  /// `receiver`: its rank in MPI_COMM_WORLD. Its board is null if there is no memory.
  static Seat seat(std::uint32_t receiver);

  explicit OutBoard(const transport::shm::Publications::Published& place);
  OutBoard(const OutBoard&) = delete;
  OutBoard& operator=(const OutBoard&) = delete;
  ~OutBoard();

 private:
  transport::gpu::ChannelWords words(std::uint32_t seat) const;
  const transport::shm::Publications::Published place_;
  std::uint32_t taken_ = 0;  // seats, none of which is used again
};

}  // namespace dunnage::mpi
