// The words that both ranks of a channel write for each message. Such a word must come from the
// core of the other rank, which takes about 0.1 us. A program uses its channels to one rank one
// after the other. So the words of eight channels share a cache line, and come together.
//
// Words of different kinds stand in different cache lines. The receiver takes messages while the
// sender looks whether they are done, and the sender looks at `taken` only if the receiver is late.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/gpu/line.hpp"

namespace dunnage::transport::gpu {

/// The words of eight channels.
struct ChannelBlock {
  static constexpr std::size_t channels = 8;
  alignas(64) std::atomic<std::uint64_t> counts[channels]{};
  alignas(64) std::atomic<std::uint64_t> taken[channels]{};  // of the first line of each channel
  alignas(64) std::atomic<std::uint64_t> done[channels]{};   // likewise
};

/// The words of one channel.
struct ChannelWords {
  std::atomic<std::uint64_t>* counts;
  LineEnd first_line;
};

/// Where the words of a channel are.
struct BoardSeat {
  std::uint64_t begin = 0, serial = 0;  // by which the board is found in the sender's memory
  std::uint32_t number = 0;
};

/// What stands in the sender's shared memory, for channels to one receiver.
struct ChannelBoard {
  static constexpr std::uint32_t seats = 64;
  ChannelBlock blocks[seats / ChannelBlock::channels];

  ChannelWords seat(std::uint32_t number) {
    auto& block = blocks[number / ChannelBlock::channels];
    const auto i = number % ChannelBlock::channels;
    return {&block.counts[i], {&block.taken[i], &block.done[i]}};
  }
};

}  // namespace dunnage::transport::gpu
