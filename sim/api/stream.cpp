// Streams: to create and destroy them, to wait for them, and to call functions of the host in them.
#include <vector>

#include "sim/api/call.hpp"
#include "sim/capture.hpp"
#include "sim/context.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

CUresult create(const char* name, CUstream* handle, unsigned flags) {
  return call({name, Class::other, Needs::context, Captures::allow, Kernels::wait}, [&](Call& c) {
    require((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0, CUDA_ERROR_INVALID_VALUE);
    given(handle);
    const auto made = make_stream(c.context, flags);
    made->handle = *handle = driver().streams.add(made);
  });
}

}  // namespace
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
    stream->end();
    if (const auto context = stream->context.lock(); context && !stream->started) std::erase(context->streams, stream);
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call({"cuStreamSynchronize", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto stream = stream_of(c.context, handle);
    const auto context = stream->context.lock();
    forbid_while_captured(*stream);
    for (const auto& work : pending(*stream)) wait_for(work, c.lock);
    context->check();
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return call({"cuStreamQuery", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto stream = stream_of(c.context, handle);
    forbid_while_captured(*stream);
    return pending(*stream).empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return call({"cuLaunchHostFunc", Class::launch}, [&](Call& c) {
    require(function != nullptr, CUDA_ERROR_INVALID_VALUE);
    put(stream_of(c.context, handle), [=] { function(data); });
  });
}
