#include "sim/stream.hpp"

#include <thread>

#include "sim/context.hpp"
#include "sim/driver.hpp"
#include "sim/error.hpp"

namespace dunnage::sim {

std::shared_ptr<Stream> make_stream(const std::shared_ptr<Context>& context, unsigned flags) {
  auto made = std::make_shared<Stream>();
  made->owner = context->id;
  made->context = context;
  made->flags = flags;
  if (const auto most = driver().settings.connections; most > 0) {
    auto& all = context->connections;
    const auto next = context->streams_made++ % most;
    if (next == all.size()) all.push_back(std::make_shared<Connection>());
    made->connection = all[next];
  }
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

}  // namespace

std::shared_ptr<Stream> stream_of(const std::shared_ptr<Context>& current, CUstream handle) {
  if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    auto found = driver().streams.find(handle);
    require(found != nullptr, CUDA_ERROR_INVALID_HANDLE);
    const auto context = found->context.lock();
    require(context != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    context->check();
    return found;
  }
  return handle == CU_STREAM_PER_THREAD ? of_this_thread(current) : current->legacy;
}

}  // namespace dunnage::sim
