// What a program can ask about a device.
#include <cstring>
#include <string>

#include "sim/api/call.hpp"
#include "sim/device.hpp"

using namespace dunnage::sim;

CUresult cuDeviceGetCount(int* count) {
  return call({"cuDeviceGetCount", Class::other, Needs::driver},
              [&](Call&) { *given(count) = static_cast<int>(driver().devices.size()); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call({"cuDeviceGet", Class::other, Needs::driver}, [&](Call&) {
    device_of(ordinal);
    *given(device) = ordinal;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call({"cuDeviceGetName", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    require(length > 0, CUDA_ERROR_INVALID_VALUE);
    const std::string text = "Dunnage simulated device " + std::to_string(device);
    given(name)[text.copy(name, static_cast<std::size_t>(length) - 1)] = '\0';
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call({"cuDeviceGetAttribute", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    require(attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *given(value) = attribute_of(device, attribute);
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return call({"cuDeviceTotalMem", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    *given(bytes) = driver().settings.memory;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call({"cuDeviceGetUuid", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    std::memcpy(given(uuid)->bytes, "dunnage sim dev", sizeof uuid->bytes);
    uuid->bytes[15] = static_cast<char>(device);
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call({"cuDeviceCanAccessPeer", Class::other, Needs::driver}, [&](Call&) {
    device_of(device);
    device_of(peer);
    *given(can) = device != peer;
  });
}
