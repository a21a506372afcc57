#include "sim/capture.hpp"

#include <algorithm>
#include <utility>

#include "sim/context.hpp"
#include "sim/driver.hpp"
#include "sim/error.hpp"

namespace dunnage::sim {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool minded(const Capture& capture) {
  if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace

void forbid_in_captures() {
  bool forbidden = false;
  for (const auto& capture : driver().captures)
    if (minded(*capture)) {
      capture->valid = false;
      forbidden = true;
    }
  require(!forbidden, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void forbid_legacy_in_captures(const Context& context) {
  bool forbidden = false;
  for (const auto& stream : context.streams)
    if (stream->capture && stream->blocking()) {
      stream->capture->valid = false;
      forbidden = true;
    }
  require(!forbidden, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

void forbid_while_captured(Stream& stream) {
  if (!stream.capture) return;
  stream.capture->valid = false;
  throw Error{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
}

void check_valid(const Capture& capture) { require(capture.valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED); }

void record(Stream& stream, std::function<void()> run, bool waits) {
  auto& capture = *stream.capture;
  check_valid(capture);
  capture.nodes.push_back({std::exchange(stream.frontier, {}), std::move(run), false, waits});
  stream.frontier = {capture.nodes.size() - 1};
}

void join(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
          const std::vector<std::size_t>& frontier) {
  if (!capture) {  // an event that was not captured
    stream->capture->valid = false;
    throw Error{CUDA_ERROR_STREAM_CAPTURE_ISOLATION};
  }
  require(!capture->ended, CUDA_ERROR_CAPTURED_EVENT);
  if (stream->capture && stream->capture != capture) {
    stream->capture->valid = capture->valid = false;
    throw Error{CUDA_ERROR_STREAM_CAPTURE_MERGE};
  }
  check_valid(*capture);
  require(!stream->legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (!stream->capture) {
    stream->capture = capture;
    capture->streams.push_back(stream);
  }
  stream->frontier.insert(stream->frontier.end(), frontier.begin(), frontier.end());
}

bool joined(const Capture& capture) {
  std::vector<bool> before(capture.nodes.size());
  std::vector<std::size_t> open = capture.origin->frontier;
  while (!open.empty()) {
    const auto node = open.back();
    open.pop_back();
    if (before[node]) continue;
    before[node] = true;
    open.insert(open.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  for (const auto& weak : capture.streams)
    if (const auto stream = weak.lock())
      for (const auto node : stream->frontier)
        if (!before[node]) return false;
  return true;
}

void end_capture(Capture& capture) {
  capture.ended = true;
  for (const auto& weak : capture.streams)
    if (const auto stream = weak.lock()) {
      stream->capture = nullptr;
      stream->frontier.clear();
    }
  std::erase_if(driver().captures, [&](const auto& other) { return other.get() == &capture; });
}

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

void abandon(Stream& stream) {
  const auto capture = std::exchange(stream.capture, nullptr);
  capture->valid = false;
  if (capture->origin == &stream) end_capture(*capture);
}

void drop_captures(unsigned long long owner) {
  const auto all = driver().captures;
  for (const auto& capture : all)
    if (capture->owner == owner) end_capture(*capture);
}

}  // namespace dunnage::sim
