#include "sim/lifetime.hpp"

#include "sim/capture.hpp"
#include "sim/device.hpp"
#include "sim/event.hpp"
#include "sim/graph.hpp"
#include "sim/memory.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

std::shared_ptr<Context> make(CUdevice device, bool primary, unsigned flags) {
  static unsigned long long last_id = 0;
  auto made = std::make_shared<Context>();
  made->id = ++last_id;
  made->device = device;
  made->primary = primary;
  made->flags = flags;
  made->legacy = make_stream(made, CU_STREAM_DEFAULT);
  return made;
}

}  // namespace

std::shared_ptr<Context> create_context(CUdevice device, unsigned flags) {
  auto made = make(device, false, flags);
  made->handle = driver().contexts.add(made);
  return made;
}

std::shared_ptr<Context> activate_primary(CUdevice device) {
  const auto& on = device_of(device);
  if (auto active = driver().contexts.find(on.primary)) return active;
  auto made = make(device, true, on.flags);
  made->handle = on.primary;
  driver().contexts.put(on.primary, made);
  return made;
}

void destroy(const std::shared_ptr<Context>& context, std::unique_lock<std::mutex>& lock) {
  auto& d = driver();
  d.contexts.erase(context->handle);  // no later call finds the context
  wait_until_idle(*context, lock);
  context->fail(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const auto owned = [&](const auto& object) { return object.owner == context->id; };
  drop_captures(context->id);
  d.streams.erase_if(owned);
  d.events.erase_if(owned);
  d.modules.erase_if(owned);
  d.functions.erase_if(owned);
  d.executables.erase_if(owned);
  for (auto at = d.allocations.begin(); at != d.allocations.end();) {
    const auto allocation = (at++)->second;
    if (allocation->owner == context->id) release(*allocation);
  }
  for (const auto& stream : context->streams) stream->end();
  context->streams.clear();
  context->per_thread.clear();
  d.changed.notify_all();
}

}  // namespace dunnage::sim
