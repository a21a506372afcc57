// Streams run their work in order, each on its own thread, every piece a little late. What a piece of work must wait for beside
// the work before it in its stream (events, the rule of the legacy default stream) it names when it is put in.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda.h>

namespace dunnage::sim {

struct Call;
struct Capture;
struct Context;

struct Work {
  std::vector<std::shared_ptr<Work>> after;
  std::function<void()> run;         // without the driver's lock; may throw an Error, which kills the context
  CUresult fault = CUDA_SUCCESS;     // what happens instead of `run`
  std::chrono::microseconds delay{};
  bool done = false;
  std::chrono::steady_clock::time_point finished;
};

struct Stream {
  unsigned long long owner = 0;  // id of its context
  std::weak_ptr<Context> context;
  CUstream handle{};
  unsigned flags = 0;
  bool legacy = false;
  bool started = false;  // has a thread
  bool ended = false;    // the thread goes when there is no work left
  std::deque<std::shared_ptr<Work>> queue;
  std::shared_ptr<Work> last;
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> frontier;  // in the capture: what the next work comes after

  bool blocking() const { return !legacy && !(flags & CU_STREAM_NON_BLOCKING); }
};

std::shared_ptr<Stream> make_stream(const std::shared_ptr<Context>& context, unsigned flags);

// The stream of a handle, the default ones included: the current context's.
std::shared_ptr<Stream> stream_of(const Call& call, CUstream handle);

// Puts work into a stream, or into the stream's capture; then there is nothing to wait for, and the result is null.
std::shared_ptr<Work> put(const std::shared_ptr<Stream>& stream, std::function<void()> run, CUresult fault = CUDA_SUCCESS);
// Makes what is put into the stream from now on wait for work of another stream.
void put_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Work>& work);

void wait_for(const std::shared_ptr<Work>& work, std::unique_lock<std::mutex>& lock);
void wait_for_all(const Context& context, std::unique_lock<std::mutex>& lock);  // that was put in before
void wait_until_idle(const Context& context, std::unique_lock<std::mutex>& lock);

// The work that the stream is idle after.
std::vector<std::shared_ptr<Work>> pending(const Stream& stream);

}  // namespace dunnage::sim
