#include "sim/stream.hpp"

#include <algorithm>

#include "sim/call.hpp"
#include "sim/capture.hpp"
#include "sim/context.hpp"

namespace dunnage::sim {

std::shared_ptr<Stream> make_stream(const std::shared_ptr<Context>& context, unsigned flags) {
  auto made = std::make_shared<Stream>();
  made->owner = context->id;
  made->context = context;
  made->flags = flags;
  made->legacy = !context->legacy;  // the first stream of a context is its legacy default stream
  context->streams.push_back(made);
  return made;
}

namespace {

std::shared_ptr<Stream> of_this_thread(const std::shared_ptr<Context>& context) {
  const auto self = std::this_thread::get_id();
  for (const auto& [thread, stream] : context->per_thread)
    if (thread == self) return stream;
  auto made = make_stream(context, CU_STREAM_DEFAULT);
  context->per_thread.emplace_back(self, made);
  return made;
}

CUresult create(const char* name, CUstream* handle, unsigned flags) {
  return call({name}, [&](Call& c) {
    require((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0, CUDA_ERROR_INVALID_VALUE);
    given(handle);
    const auto made = make_stream(c.context, flags);
    made->handle = *handle = driver().streams.add(made);
  });
}

}  // namespace

std::shared_ptr<Stream> stream_of(const Call& call, CUstream handle) {
  if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    auto found = driver().streams.find(handle);
    require(found != nullptr, CUDA_ERROR_INVALID_HANDLE);
    const auto context = found->context.lock();
    require(context != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    context->check();
    return found;
  }
  return handle == CU_STREAM_PER_THREAD ? of_this_thread(call.context) : call.context->legacy;
}

}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return create("cuStreamCreate", stream, flags); }

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return create("cuStreamCreateWithPriority", stream, flags);
}

CUresult cuStreamDestroy(CUstream handle) {
  return call({"cuStreamDestroy"}, [&](Call&) {
    const auto stream = driver().streams.find(handle);
    require(stream != nullptr, CUDA_ERROR_INVALID_HANDLE);
    if (stream->capture) abandon(*stream);
    driver().streams.erase(handle);
    stream->ended = true;
    if (const auto context = stream->context.lock(); context && !stream->started) std::erase(context->streams, stream);
    driver().changed.notify_all();
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call({"cuStreamSynchronize", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto stream = stream_of(c, handle);
    const auto context = stream->context.lock();
    forbid_while_captured(*stream);
    for (const auto& work : pending(*stream)) wait_for(work, c.lock);
    context->check();
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return call({"cuStreamQuery", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto stream = stream_of(c, handle);
    forbid_while_captured(*stream);
    require(pending(*stream).empty(), CUDA_ERROR_NOT_READY);
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return call({"cuLaunchHostFunc", Class::launch}, [&](Call& c) {
    require(function != nullptr, CUDA_ERROR_INVALID_VALUE);
    put(stream_of(c, handle), [=] { function(data); });
  });
}
