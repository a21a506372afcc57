// Captures of streams. graph.cpp has the graphs that they become.
#include <memory>
#include <thread>

#include "sim/api/call.hpp"
#include "sim/capture.hpp"
#include "sim/context.hpp"
#include "sim/graph.hpp"
#include "sim/stream.hpp"

using namespace dunnage::sim;

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return call({"cuStreamBeginCapture"}, [&](Call& c) {
    require(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    const auto stream = stream_of(c.context, handle);
    require(!stream->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    const auto capture = std::make_shared<Capture>();
    capture->owner = stream->owner;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream.get();
    capture->streams.push_back(stream);
    stream->capture = capture;
    driver().captures.push_back(capture);
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return call({"cuStreamEndCapture"}, [&](Call& c) {
    *given(graph) = nullptr;
    const auto stream = stream_of(c.context, handle);
    const auto capture = stream->capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    require(capture->origin == stream.get(), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    require(capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->thread == std::this_thread::get_id(),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const bool complete = joined(*capture);
    end_capture(*capture);
    check_valid(*capture);
    require(complete, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    *graph = driver().graphs.add(std::make_shared<Graph>(Graph{capture->owner, capture->nodes}));
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return call({"cuStreamIsCapturing"}, [&](Call& c) {
    const auto stream = stream_of(c.context, handle);
    given(status);
    if (stream->legacy)
      for (const auto& other : c.context->streams)
        require(!(other->capture && other->blocking()), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    *status = !stream->capture         ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                       : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call({"cuThreadExchangeStreamCaptureMode", Class::other, Needs::driver}, [&](Call&) {
    const auto wanted = *given(mode);
    require(wanted >= CU_STREAM_CAPTURE_MODE_GLOBAL && wanted <= CU_STREAM_CAPTURE_MODE_RELAXED,
            CUDA_ERROR_INVALID_VALUE);
    *mode = exchange_thread_mode(wanted);
  });
}
