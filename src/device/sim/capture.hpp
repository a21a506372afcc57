// Captures of streams into graphs. What is captured is not run, and no graph can be launched; what matters is what CUDA forbids
// meanwhile.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include <cuda.h>

#include "device/sim/stream.hpp"

namespace dunnage::sim {

struct Capture {
  unsigned long long owner = 0;  // id of the context
  CUstreamCaptureMode mode{};
  std::thread::id thread;        // that began it
  Stream* origin = nullptr;      // the stream that it began in
  std::vector<std::weak_ptr<Stream>> streams;
  bool valid = true;
  bool ended = false;
  std::vector<std::vector<std::size_t>> nodes;  // what each comes after
};

struct Graph {};

// For calls that CUDA calls potentially unsafe: refused, and the capture is invalid from then on, where one is under way that
// the thread minds.
void forbid_in_captures();
// The same for work of the legacy default stream while a blocking stream of the context is captured.
void forbid_legacy_in_captures(const Context& context);
// The same for asking or waiting for a stream that is captured.
void forbid_while_captured(Stream& stream);

void check_valid(const Capture& capture);
void record(Stream& stream);

// The stream waits for a captured event (or, in a capture, for one that is not).
void join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
          const std::vector<std::size_t>& frontier);

void abandon(Stream& stream);                  // it is destroyed
void drop_captures(unsigned long long owner);  // its context is

}  // namespace dunnage::sim
