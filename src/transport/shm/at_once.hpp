// A pipe for work that is done at once. GpuPipe (transport/gpu/pipe.hpp) is the other kind of pipe.
#pragma once

#include <cstdint>

namespace dunnage::transport::shm {

/// Handles one range at a time: begin() returns when the range is done.
template <class F>
struct AtOnce {
  F& f;
  std::uint64_t done = 0;
  template <class Memory>
  void begin(Memory* memory, std::int64_t begin, std::int64_t end) {
    f(memory, begin, end);
    ++done;
  }
  std::uint64_t ended() const { return done; }
};

}  // namespace dunnage::transport::shm
