// Fills of memory with one value.
#include <algorithm>
#include <cstring>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/memory.hpp"
#include "sim/place.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

template <class Value>
std::shared_ptr<Work> put_fill(const std::shared_ptr<Stream>& stream, CUdeviceptr to, Value value, std::size_t count) {
  require(to % sizeof value == 0 && count <= ~std::size_t{0} / sizeof value, CUDA_ERROR_INVALID_VALUE);
  auto* const first = reinterpret_cast<Value*>(place_of(to, count * sizeof value, Must::be_known).bytes);
  return put(stream, [=] { std::fill_n(first, count, value); });
}

template <class Value>
CUresult fill_async(const char* name, CUdeviceptr to, Value value, std::size_t count, CUstream stream) {
  return call({name, Class::copy}, [&](Call& c) {
    if (count > 0) put_fill(stream_of(c.context, stream), to, value, count);
  });
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return call({"cuMemsetD8", Class::copy, Needs::context, Captures::forbid}, [&](Call& c) {
    if (count == 0) return;
    const auto work = put_fill(c.context->legacy, to, value, count);
    if (find_allocation(to)->on_device()) return;  // the call does not wait for device memory
    wait_for(work, c.lock);
    c.context->check();
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill_async("cuMemsetD8Async", to, value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill_async("cuMemsetD32Async", to, value, count, stream);
}
