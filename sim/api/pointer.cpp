// What the driver knows about an address.
#include <cstring>

#include "sim/api/call.hpp"
#include "sim/memory.hpp"
#include "sim/physical.hpp"

namespace dunnage::sim {
namespace {

template <class Value>
void store(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);
}

// Writes an attribute of known memory. False if such memory does not have the attribute.
bool store_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address, const Allocation& in) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      // Memory of a pool and virtual memory belong to the device, not to a context.
      store(data, in.kind == Kind::pool || in.kind == Kind::mapped ? nullptr : in.context);
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      // The driver reports managed memory as device memory, wherever its pages are.
      store(data, unsigned{in.on_device() || in.kind == Kind::managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST});
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: store(data, address); return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      store(data, in.on_device() ? CUdeviceptr{0} : address);
      return !in.on_device();
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: store(data, in.id); return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: store(data, unsigned{in.kind == Kind::managed}); return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: store(data, in.device); return true;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: store(data, unsigned{in.kind == Kind::device}); return true;
    // The range of virtual memory is the whole reserved range, whatever is mapped there.
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      store(data, in.kind == Kind::mapped ? in.range : in.address);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: store(data, in.kind == Kind::mapped ? in.range_size : in.size); return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: store(data, in.address); return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: store(data, in.size); return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      store(data, in.physical && !in.physical->imported ? std::uint64_t{in.physical->properties.requestedHandleTypes}
                                                        : std::uint64_t{0});
      return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: store(data, std::uint64_t{in.kind == Kind::pool}); return true;
    case CU_POINTER_ATTRIBUTE_MAPPED: store(data, 1u); return true;
    default: return false;
  }
}

// Writes the value that cuPointerGetAttributes gives for memory that the driver does not know.
void store_nothing(void* data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED: store(data, 0u); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: store(data, int{CU_DEVICE_INVALID}); break;
    default: store(data, std::uint64_t{0});
  }
}

bool known(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return true;
    default: return false;
  }
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return call({"cuPointerGetAttribute", Class::other, Needs::driver}, [&](Call&) {
    given(data);
    const auto found = find_allocation(address);
    require(found && store_attribute(data, attribute, address, *found), CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  return call({"cuPointerGetAttributes", Class::other, Needs::driver}, [&](Call&) {
    require(count > 0 && attributes && data, CUDA_ERROR_INVALID_VALUE);
    const auto found = find_allocation(address);
    for (unsigned i = 0; i < count; ++i) {
      require(known(attributes[i]) && data[i], CUDA_ERROR_INVALID_VALUE);
      if (found)
        store_attribute(data[i], attributes[i], address, *found);
      else
        store_nothing(data[i], attributes[i]);
    }
  });
}
