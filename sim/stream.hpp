// Streams. Each stream runs its work in order on a thread of its own, and delays each piece of work
// a little. A piece of work may also wait for work of other streams (events, the legacy default
// stream); it names that work when it is put into its stream.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/cuda_driver_api.h"

namespace dunnage::sim {

struct Capture;
struct Context;

struct Work {
  std::vector<std::shared_ptr<Work>> after;
  std::function<void()> run;      // runs without the driver's lock; if it throws an Error, the context is dead
  CUresult fault = CUDA_SUCCESS;  // what happens instead of `run`
  std::chrono::microseconds delay{};
  bool waits = false;  // for memory, at the front of its connection
  bool done = false;
  std::chrono::steady_clock::time_point finished;
};

// A queue of the hardware, which streams share. Work that has not begun holds up what is behind it,
// also work of other streams.
struct Connection {
  std::deque<std::shared_ptr<Work>> queue;
};

struct Stream {
  unsigned long long owner = 0;  // id of its context
  std::weak_ptr<Context> context;
  CUstream handle{};
  unsigned flags = 0;
  bool legacy = false;
  bool started = false;  // the stream has a thread
  bool ended = false;    // the thread ends when no work is left
  // For its thread alone: there is new work, or the stream has ended. If all threads woke for each
  // piece of work, that would take most of the time.
  std::condition_variable called;
  std::deque<std::shared_ptr<Work>> queue;
  std::shared_ptr<Work> last;
  std::shared_ptr<Connection> connection;  // null: one that no other stream has
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> frontier;  // in a capture: the nodes that the next node follows

  void end() {
    ended = true;
    called.notify_all();
  }
  bool blocking() const { return !legacy && !(flags & CU_STREAM_NON_BLOCKING); }
};

std::shared_ptr<Stream> make_stream(const std::shared_ptr<Context>& context, unsigned flags);

// The stream of a handle. For handles of default streams, the current context's default stream.
// Throws if the handle is not valid.
std::shared_ptr<Stream> stream_of(const std::shared_ptr<Context>& current, CUstream handle);

}  // namespace dunnage::sim
