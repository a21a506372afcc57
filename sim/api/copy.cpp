// Copies of plain ranges. Whether a call waits for the copy follows "API synchronization behavior"
// in CUDA's documentation. If that text allows both, the simulator takes the behaviour that shows
// more mistakes of programs.
#include <cstring>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/place.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

std::shared_ptr<Work> put_copy(const std::shared_ptr<Stream>& stream, const Place& to, const Place& from,
                               std::size_t bytes) {
  return put(stream, [=] { std::memmove(to.bytes, from.bytes, bytes); });
}

// Pageable memory is read before the call returns. The bytes reach the device later. A graph reads
// the memory each time that it is launched.
std::shared_ptr<Work> put_staged_copy(const std::shared_ptr<Stream>& stream, const Place& to, const Place& from,
                                      std::size_t bytes) {
  if (stream->capture) return put_copy(stream, to, from, bytes);
  const auto staged = std::make_shared<std::vector<char>>(from.bytes, from.bytes + bytes);
  return put(stream, [=] { std::memcpy(to.bytes, staged->data(), bytes); });
}

void wait_and_check(const std::shared_ptr<Work>& work, const std::shared_ptr<Context>& context, Call& c) {
  wait_for(work, c.lock);
  context->check();
}

// A context cannot reach pools of other devices, nor virtual memory without access for its device.
// A copy that names both contexts can.
void need_access(const Context& context, const Place& place) {
  require((place.devices >> context.device & 1) != 0, CUDA_ERROR_INVALID_VALUE);
}

void copy_async(Call& c, CUstream in, const Place& to, const Place& from, std::size_t bytes,
                bool between_contexts = false) {
  const auto stream = stream_of(c.context, in);
  const auto context = stream->context.lock();
  if (!between_contexts) {
    need_access(*context, to);
    need_access(*context, from);
  }
  if (from.where == Where::pageable && to.where == Where::device) {
    put_staged_copy(stream, to, from, bytes);
    return;
  }
  const auto work = put_copy(stream, to, from, bytes);
  const bool on_host = to.where != Where::device && from.where != Where::device;
  if (to.where == Where::pageable || on_host) wait_and_check(work, context, c);
}

void copy_sync(Call& c, const Place& to, const Place& from, std::size_t bytes) {
  need_access(*c.context, to);
  need_access(*c.context, from);
  const auto stream = c.context->legacy;
  if (from.where == Where::pageable && to.where == Where::device) {
    put_staged_copy(stream, to, from, bytes);
    return;
  }
  const auto work = put_copy(stream, to, from, bytes);
  const bool on_device = to.where == Where::device && from.where == Where::device;
  if (!on_device) wait_and_check(work, c.context, c);
}

CUresult copy(const char* name, CUdeviceptr to, Must to_must, CUdeviceptr from, Must from_must, std::size_t bytes) {
  return call({name, Class::copy, Needs::context, Captures::forbid}, [&](Call& c) {
    if (bytes == 0) return;
    const auto there = [&] { return std::pair(place_of(to, bytes, to_must), place_of(from, bytes, from_must)); };
    if (const auto [target, source] = there(); source.where == Where::pageable && target.where == Where::device)
      for (const auto& work : pending(*c.context->legacy)) wait_for(work, c.lock);
    c.context->check();
    const auto [target, source] = there();  // looked up again, because another thread may have freed memory meanwhile
    copy_sync(c, target, source, bytes);
  });
}

CUresult copy(const char* name, CUdeviceptr to, Must to_must, CUdeviceptr from, Must from_must, std::size_t bytes,
              CUstream stream) {
  return call({name, Class::copy}, [&](Call& c) {
    if (bytes > 0) copy_async(c, stream, place_of(to, bytes, to_must), place_of(from, bytes, from_must), bytes);
  });
}

CUdeviceptr address(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpy", to, Must::exist, from, Must::exist, bytes);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return copy("cuMemcpyHtoD", to, Must::be_known, address(from), Must::exist, bytes);
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpyDtoH", address(to), Must::exist, from, Must::be_known, bytes);
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy("cuMemcpyDtoD", to, Must::be_known, from, Must::be_known, bytes);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyAsync", to, Must::exist, from, Must::exist, bytes, stream);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyHtoDAsync", to, Must::be_known, address(from), Must::exist, bytes, stream);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyDtoHAsync", address(to), Must::exist, from, Must::be_known, bytes, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy("cuMemcpyDtoDAsync", to, Must::be_known, from, Must::be_known, bytes, stream);
}

// The contexts only tell which device has the memory, and the address tells that too.
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  return call({"cuMemcpyPeer", Class::copy, Needs::context, Captures::forbid}, [&](Call& c) {
    context_of(to_context);
    context_of(from_context);
    if (bytes > 0) copy_sync(c, place_of(to, bytes, Must::be_known), place_of(from, bytes, Must::be_known), bytes);
  });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
  return call({"cuMemcpyPeerAsync", Class::copy}, [&](Call& c) {
    context_of(to_context);
    context_of(from_context);
    if (bytes > 0)
      copy_async(c, stream, place_of(to, bytes, Must::be_known), place_of(from, bytes, Must::be_known), bytes, true);
  });
}
