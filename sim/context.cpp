#include "sim/context.hpp"

#include <algorithm>

#include "sim/call.hpp"
#include "sim/capture.hpp"
#include "sim/device.hpp"
#include "sim/event.hpp"
#include "sim/memory.hpp"
#include "sim/stream.hpp"

namespace dunnage::sim {
namespace {

thread_local std::vector<CUcontext> stack;  // the last one is current

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

void pop_if_current(CUcontext handle) {
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
}

}  // namespace

std::shared_ptr<Context> current_context() { return stack.empty() ? nullptr : driver().contexts.find(stack.back()); }

std::shared_ptr<Context> need_current_context() {
  require(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT);
  auto found = current_context();
  require(found != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return found;
}

std::shared_ptr<Context> context_of(CUcontext handle) {
  auto found = driver().contexts.find(handle);
  require(found != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  return found;
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
  for (auto at = d.allocations.begin(); at != d.allocations.end();) {
    const auto allocation = (at++)->second;
    if (allocation->owner == context->id) release(*allocation);
  }
  for (const auto& stream : context->streams) stream->ended = true;
  context->streams.clear();
  context->per_thread.clear();
  d.changed.notify_all();
}

}  // namespace dunnage::sim

using namespace dunnage::sim;

namespace {
CUresult create(CUcontext* context, unsigned flags, CUdevice device) {
  return call({"cuCtxCreate", Class::other, Needs::driver, Captures::forbid}, [&](Call&) {
    device_of(device);
    auto made = make(device, false, flags);
    made->handle = *given(context) = driver().contexts.add(made);
    stack.push_back(made->handle);
  });
}
}  // namespace

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}

// The version before CUDA 12.5, which programs may still ask for by its name.
extern "C" CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create(context, flags, device);
}

CUresult cuCtxDestroy(CUcontext handle) {
  return call({"cuCtxDestroy", Class::other, Needs::driver, Captures::forbid}, [&](Call& c) {
    const auto context = context_of(handle);
    require(!context->primary, CUDA_ERROR_INVALID_CONTEXT);
    pop_if_current(handle);
    destroy(context, c.lock);
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return call({"cuCtxGetCurrent", Class::other, Needs::driver},
              [&](Call&) { *given(context) = stack.empty() ? nullptr : stack.back(); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return call({"cuCtxSetCurrent", Class::other, Needs::driver}, [&](Call&) {
    if (context) context_of(context);
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(context);
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return call({"cuCtxPushCurrent", Class::other, Needs::driver}, [&](Call&) {
    context_of(context);
    stack.push_back(context);
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return call({"cuCtxPopCurrent", Class::other, Needs::driver}, [&](Call&) {
    require(!stack.empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (context) *context = stack.back();
    stack.pop_back();
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return call({"cuCtxGetDevice", Class::other, Needs::driver},
              [&](Call&) { *given(device) = need_current_context()->device; });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return call({"cuCtxGetId", Class::other, Needs::driver}, [&](Call&) {
    const auto found = context ? driver().contexts.find(context) : need_current_context();
    require(found != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *given(id) = found->id;
  });
}

CUresult cuCtxSynchronize() {
  return call({"cuCtxSynchronize", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    wait_for_all(*c.context, c.lock);
    c.context->check();
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return call({"cuCtxEnablePeerAccess"}, [&](Call& c) {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    require(context_of(peer)->device != c.context->device, CUDA_ERROR_INVALID_CONTEXT);
    require(c.context->peers.insert(peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return call({"cuCtxDisablePeerAccess"}, [&](Call& c) {
    context_of(peer);
    require(c.context->peers.erase(peer) == 1, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  });
}
