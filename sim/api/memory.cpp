// Device memory, page-locked and managed memory, and memory that the program registers.
#include <cstdlib>

#include "sim/api/call.hpp"
#include "sim/capture.hpp"
#include "sim/context.hpp"
#include "sim/memory.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

CUdeviceptr take_device_memory(const Call& c, Kind kind, std::size_t bytes) {
  require(bytes > 0, CUDA_ERROR_INVALID_VALUE);
  const auto address = driver().space.take(c.context->device, bytes);
  require(address.has_value(), CUDA_ERROR_OUT_OF_MEMORY);
  add_allocation(*c.context, kind, *address, bytes);
  return *address;
}

void* take_host_memory(const Call& c, Kind kind, std::size_t bytes) {
  require(bytes > 0, CUDA_ERROR_INVALID_VALUE);
  require(bytes < std::size_t{1} << 40, CUDA_ERROR_OUT_OF_MEMORY);
  void* const memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  require(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
  add_allocation(*c.context, kind, reinterpret_cast<CUdeviceptr>(memory), bytes);
  return memory;
}

// What lies at exactly this address and is of one of these kinds.
template <class... Kinds>
std::shared_ptr<Allocation> exactly(CUdeviceptr address, Kinds... kinds) {
  const auto found = find_allocation(address);
  require(found && found->address == address && ((found->kind == kinds) || ...), CUDA_ERROR_INVALID_VALUE);
  return found;
}

// Memory goes when its context has nothing to do: a program that frees what another thread's
// allocation has become must not crash us.
void free_after_all(const std::shared_ptr<Allocation>& allocation, Call& c) {
  const auto owner = driver().contexts.find(allocation->context);
  if (owner) wait_until_idle(*owner, c.lock);
  c.context->check();
  const auto& all = driver().allocations;
  const auto still = all.find(allocation->address);
  require(still != all.end() && still->second == allocation, CUDA_ERROR_INVALID_VALUE);  // freed twice at once
  release(*allocation);
}

CUresult take_pinned(const char* name, void** memory, std::size_t bytes) {
  return call({name, Class::alloc, Needs::context, Captures::forbid},
              [&](Call& c) { *given(memory) = take_host_memory(c, Kind::pinned, bytes); });
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return call({"cuMemGetInfo"}, [&](Call& c) {
    *given(free) = driver().space.free_bytes(c.context->device);
    *given(total) = driver().settings.memory;
  });
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return call({"cuMemAlloc", Class::alloc, Needs::context, Captures::forbid, Kernels::wait},
              [&](Call& c) { *given(address) = take_device_memory(c, Kind::device, bytes); });
}

CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  return call({"cuMemAllocPitch", Class::alloc, Needs::context, Captures::forbid}, [&](Call& c) {
    require(element == 4 || element == 8 || element == 16, CUDA_ERROR_INVALID_VALUE);
    constexpr std::size_t unit = 512;
    require(width > 0 && width < std::size_t{1} << 40 && height < std::size_t{1} << 20, CUDA_ERROR_INVALID_VALUE);
    *given(pitch) = (width + unit - 1) / unit * unit;
    *given(address) = take_device_memory(c, Kind::device, *pitch * height);
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return call({"cuMemFree", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    if (address) free_after_all(exactly(address, Kind::device, Kind::pool, Kind::managed), c);
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return call({"cuMemAllocManaged", Class::alloc, Needs::context, Captures::forbid}, [&](Call& c) {
    require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST, CUDA_ERROR_INVALID_VALUE);
    *given(address) = reinterpret_cast<CUdeviceptr>(take_host_memory(c, Kind::managed, bytes));
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream in) {
  return call({"cuMemAllocAsync", Class::alloc}, [&](Call& c) {
    const auto stream = stream_of(c.context, in);
    require(stream->owner == c.context->id, CUDA_ERROR_INVALID_CONTEXT);
    forbid_while_captured(*stream);
    *given(address) = take_device_memory(c, Kind::pool, bytes);
    put(stream, nullptr);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream in) {
  return call({"cuMemFreeAsync"}, [&](Call& c) {
    const auto stream = stream_of(c.context, in);
    forbid_while_captured(*stream);
    const auto allocation = exactly(address, Kind::device, Kind::pool);
    put(stream, [allocation] {
      const std::lock_guard hold(driver().lock);
      const auto& all = driver().allocations;
      if (const auto still = all.find(allocation->address); still != all.end() && still->second == allocation)
        release(*allocation);
    });
  });
}

CUresult cuMemAllocHost(void** memory, size_t bytes) { return take_pinned("cuMemAllocHost", memory, bytes); }

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned) { return take_pinned("cuMemHostAlloc", memory, bytes); }

CUresult cuMemFreeHost(void* memory) {
  return call({"cuMemFreeHost", Class::other, Needs::context, Captures::forbid},
              [&](Call& c) { free_after_all(exactly(reinterpret_cast<CUdeviceptr>(memory), Kind::pinned), c); });
}

CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned) {
  return call({"cuMemHostRegister", Class::alloc, Needs::context, Captures::forbid}, [&](Call& c) {
    require(memory != nullptr && bytes > 0 && !Space::holds(memory), CUDA_ERROR_INVALID_VALUE);
    const auto address = reinterpret_cast<CUdeviceptr>(memory);
    const auto next = driver().allocations.lower_bound(address);
    const bool overlaps =
        find_allocation(address) || (next != driver().allocations.end() && next->first - address < bytes);
    require(!overlaps, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    add_allocation(*c.context, Kind::registered, address, bytes);
  });
}

CUresult cuMemHostUnregister(void* memory) {
  return call({"cuMemHostUnregister", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto found = find_allocation(reinterpret_cast<CUdeviceptr>(memory));
    require(found && found->kind == Kind::registered && found->address == reinterpret_cast<CUdeviceptr>(memory),
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    free_after_all(found, c);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* memory, unsigned flags) {
  return call({"cuMemHostGetDevicePointer"}, [&](Call&) {
    const auto found = find_allocation(reinterpret_cast<CUdeviceptr>(memory));
    require(flags == 0 && found && !found->on_device(), CUDA_ERROR_INVALID_VALUE);
    *given(address) = reinterpret_cast<CUdeviceptr>(memory);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* start, size_t* size, CUdeviceptr address) {
  return call({"cuMemGetAddressRange"}, [&](Call&) {
    const auto found = find_allocation(address);
    require(found != nullptr, CUDA_ERROR_NOT_FOUND);
    if (start) *start = found->address;
    if (size) *size = found->size;
  });
}
