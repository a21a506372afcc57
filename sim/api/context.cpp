// Contexts that the program creates, the current context of a thread, and access between devices.
// Primary contexts are in primary.cpp.
#include "sim/context.hpp"
#include "sim/api/call.hpp"
#include "sim/device.hpp"
#include "sim/lifetime.hpp"
#include "sim/work.hpp"

using namespace dunnage::sim;

namespace {

void pop_if_current(CUcontext handle) {
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
}

CUresult create(CUcontext* context, unsigned flags, CUdevice device) {
  return call({"cuCtxCreate", Class::other, Needs::driver, Captures::forbid}, [&](Call&) {
    device_of(device);
    *given(context) = create_context(device, flags)->handle;
    context_stack().push_back(*context);
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
  return call({"cuCtxGetCurrent", Class::other, Needs::driver}, [&](Call&) {
    const auto& stack = context_stack();
    *given(context) = stack.empty() ? nullptr : stack.back();
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return call({"cuCtxSetCurrent", Class::other, Needs::driver}, [&](Call&) {
    if (context) context_of(context);
    auto& stack = context_stack();
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(context);
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return call({"cuCtxPushCurrent", Class::other, Needs::driver}, [&](Call&) {
    context_of(context);
    context_stack().push_back(context);
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return call({"cuCtxPopCurrent", Class::other, Needs::driver}, [&](Call&) {
    auto& stack = context_stack();
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
