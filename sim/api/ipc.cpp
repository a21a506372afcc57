// Memory of other processes of the same user. A handle names a process, a file of that process, and
// an offset in the file. The file is opened through /proc.
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/device.hpp"
#include "sim/memory.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

constexpr std::uint64_t mark = 0x646e67652d73696d;

struct Contents {
  std::uint64_t mark;
  std::uint64_t offset, size;
  unsigned long long id;  // of the allocation, in the owning process
  pid_t process;
  int file;
  CUdevice device;
};
static_assert(sizeof(Contents) <= sizeof(CUipcMemHandle));

std::shared_ptr<Allocation> find_opened(const Context& context, const Contents& handle) {
  for (const auto& [address, allocation] : driver().allocations)
    if (allocation->kind == Kind::foreign && allocation->owner == context.id && allocation->process == handle.process &&
        allocation->foreign_id == handle.id)
      return allocation;
  return nullptr;
}

CUdeviceptr map(const Contents& handle) {
  const auto path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(file >= 0, CUDA_ERROR_MAP_FAILED);
  const auto address = driver().space.map_foreign(file, handle.offset, handle.size);
  close(file);
  require(address.has_value(), CUDA_ERROR_MAP_FAILED);
  return *address;
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return call({"cuIpcGetMemHandle", Class::ipc, Needs::context, Captures::forbid}, [&](Call&) {
    const auto found = find_allocation(address);
    require(found && found->kind == Kind::device, CUDA_ERROR_INVALID_VALUE);
    const auto& space = driver().space;
    const Contents contents{mark,         space.offset(found->device, found->address),
                            found->size,  found->id,
                            getpid(),     space.file(found->device),
                            found->device};
    std::memset(given(handle), 0, sizeof *handle);
    std::memcpy(handle, &contents, sizeof contents);
  });
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return call({"cuIpcOpenMemHandle", Class::ipc, Needs::context, Captures::forbid}, [&](Call& c) {
    Contents contents;
    std::memcpy(&contents, &handle, sizeof contents);
    require(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS && contents.mark == mark, CUDA_ERROR_INVALID_VALUE);
    require(contents.process != getpid(), CUDA_ERROR_INVALID_CONTEXT);
    device_of(contents.device);
    given(address);
    auto opened = find_opened(*c.context, contents);
    if (!opened) {
      opened = add_allocation(*c.context, Kind::foreign, map(contents), contents.size);
      opened->device = contents.device;
      opened->process = contents.process;
      opened->foreign_id = contents.id;
    }
    ++opened->opened;
    *address = opened->address;
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return call({"cuIpcCloseMemHandle", Class::ipc, Needs::context, Captures::forbid}, [&](Call& c) {
    const auto opened = [&] {
      auto found = find_allocation(address);
      require(found && found->kind == Kind::foreign && found->address == address && found->owner == c.context->id,
              CUDA_ERROR_INVALID_VALUE);
      return found;
    };
    opened();
    wait_for_all(*c.context, c.lock);
    c.context->check();
    const auto found = opened();  // looked up again, because another thread may have closed the handle meanwhile
    if (--found->opened == 0) release(*found);
  });
}

CUresult cuIpcGetEventHandle(CUipcEventHandle*, CUevent) {
  return call({"cuIpcGetEventHandle", Class::ipc}, [&](Call&) { throw Error{CUDA_ERROR_NOT_SUPPORTED}; });
}

CUresult cuIpcOpenEventHandle(CUevent*, CUipcEventHandle) {
  return call({"cuIpcOpenEventHandle", Class::ipc}, [&](Call&) { throw Error{CUDA_ERROR_NOT_SUPPORTED}; });
}
