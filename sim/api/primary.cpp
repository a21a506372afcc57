// Primary contexts. The handle of a device's primary context never changes. The context lives from
// the first retain to the last release, or to a reset. A reset does not change the number of
// references, so every retain still needs its release.
#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/device.hpp"
#include "sim/lifetime.hpp"

using namespace dunnage::sim;

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call({"cuDevicePrimaryCtxRetain", Class::other, Needs::driver}, [&](Call&) {
    given(context);
    *context = activate_primary(device)->handle;
    ++device_of(device).references;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call({"cuDevicePrimaryCtxRelease", Class::other, Needs::driver}, [&](Call& c) {
    auto& on = device_of(device);
    require(on.references > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--on.references > 0) return;
    if (const auto active = driver().contexts.find(on.primary)) destroy(active, c.lock);
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return call({"cuDevicePrimaryCtxReset", Class::other, Needs::driver, Captures::forbid}, [&](Call& c) {
    if (const auto active = driver().contexts.find(device_of(device).primary)) destroy(active, c.lock);
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return call({"cuDevicePrimaryCtxSetFlags", Class::other, Needs::driver}, [&](Call&) {
    device_of(device).flags = flags;
    if (const auto active = driver().contexts.find(device_of(device).primary)) active->flags = flags;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return call({"cuDevicePrimaryCtxGetState", Class::other, Needs::driver}, [&](Call&) {
    *given(flags) = device_of(device).flags;
    *given(active) = driver().contexts.find(device_of(device).primary) != nullptr;
  });
}
