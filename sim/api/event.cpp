// Events: marks in streams, which other streams and the program can wait for.
#include <chrono>
#include <memory>

#include "sim/api/call.hpp"
#include "sim/capture.hpp"
#include "sim/context.hpp"
#include "sim/event.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

std::shared_ptr<Event> event_of(CUevent handle) {
  auto found = driver().events.find(handle);
  require(found != nullptr, CUDA_ERROR_INVALID_HANDLE);
  found->context.lock()->check();
  return found;
}

void forbid_captured(const Event& event) { require(!event.capture, CUDA_ERROR_CAPTURED_EVENT); }

bool timed(const Event& event) { return event.record && !(event.flags & CU_EVENT_DISABLE_TIMING); }

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return call({"cuEventCreate"}, [&](Call& c) {
    const auto made = std::make_shared<Event>();
    made->owner = c.context->id;
    made->context = c.context;
    made->flags = flags;
    *given(event) = driver().events.add(made);
  });
}

CUresult cuEventDestroy(CUevent event) {
  return call({"cuEventDestroy"}, [&](Call&) {
    event_of(event);
    driver().events.erase(event);
  });
}

CUresult cuEventRecord(CUevent handle, CUstream in) {
  return call({"cuEventRecord"}, [&](Call& c) {
    const auto event = event_of(handle);
    const auto stream = stream_of(c.context, in);
    require(event->owner == stream->owner, CUDA_ERROR_INVALID_HANDLE);
    if (stream->capture) {
      check_valid(*stream->capture);
      event->capture = stream->capture;
      event->frontier = stream->frontier;
      return;
    }
    event->record = put(stream, nullptr);
    event->capture = nullptr;
  });
}

CUresult cuEventQuery(CUevent handle) {
  return call({"cuEventQuery", Class::other, Needs::context, Captures::forbid}, [&](Call&) {
    const auto event = event_of(handle);
    forbid_captured(*event);
    return !event->record || event->record->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return call({"cuEventSynchronize", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto event = event_of(handle);
    const auto context = event->context.lock();
    forbid_captured(*event);
    const auto record = event->record;
    wait_for(record, c.lock);
    context->check();
  });
}

CUresult cuStreamWaitEvent(CUstream in, CUevent handle, unsigned) {
  return call({"cuStreamWaitEvent"}, [&](Call& c) {
    const auto stream = stream_of(c.context, in);
    const auto event = event_of(handle);
    if (event->capture || stream->capture)
      join(stream, event->capture, event->frontier);
    else if (event->record)
      put_wait(stream, event->record);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  return call({"cuEventElapsedTime"}, [&](Call&) {
    const auto start = event_of(from), end = event_of(to);
    require(start->owner == end->owner && timed(*start) && timed(*end), CUDA_ERROR_INVALID_HANDLE);
    require(start->record->done && end->record->done, CUDA_ERROR_NOT_READY);
    const std::chrono::duration<float, std::milli> between = end->record->finished - start->record->finished;
    *given(milliseconds) = between.count();
  });
}
