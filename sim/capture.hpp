// Captures of streams into graphs. Captured work does not run before the graph is launched. The
// simulator models what CUDA forbids during a capture.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/stream.hpp"

namespace dunnage::sim {

// A piece of captured work.
struct Node {
  std::vector<std::size_t> after;  // the nodes before it
  std::function<void()> run;
  bool kernel = false;  // that a program has put there itself; captured ones are not told apart
  bool waits = false;   // for memory
};

struct Capture {
  unsigned long long owner = 0;  // id of the context
  CUstreamCaptureMode mode{};
  std::thread::id thread;    // the thread that began the capture
  Stream* origin = nullptr;  // the stream in which the capture began
  std::vector<std::weak_ptr<Stream>> streams;
  bool valid = true;
  bool ended = false;
  std::vector<Node> nodes;
};

// For calls that CUDA calls potentially unsafe. If a capture is in progress that concerns this
// thread, the call throws, and the capture becomes invalid.
void forbid_in_captures();
// For work in the legacy default stream. If a blocking stream of the context is captured, the call
// throws, and the capture becomes invalid.
void forbid_legacy_in_captures(const Context& context);
// For queries of a stream and for waits. If the stream is captured, the call throws, and the
// capture becomes invalid.
void forbid_while_captured(Stream& stream);

void check_valid(const Capture& capture);
void record(Stream& stream, std::function<void()> run, bool waits);

// A stream waits for a captured event, or a captured stream waits for an event without capture.
void join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
          const std::vector<std::size_t>& frontier);

// Whether everything that was captured in other streams has been joined into the origin stream.
bool joined(const Capture& capture);
void end_capture(Capture& capture);

// Sets the mode of this thread, and returns the mode before.
CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode);

void abandon(Stream& stream);                  // the stream is destroyed
void drop_captures(unsigned long long owner);  // the context with this id is destroyed

}  // namespace dunnage::sim
