// Copies of rows and of boxes in streams. Rows are copied as a box of depth 1. If one side is
// pageable memory, the call waits for the copy.
#include <cstring>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/place.hpp"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

struct Box {
  char* at;
  std::size_t row, plane;  // bytes from one row, or plane, to the next
  Where where;
};

struct Side {
  CUmemorytype type;
  CUdeviceptr device;
  const void* host;
  std::size_t x, y, z, pitch, height;
};

struct Extent {
  std::size_t width, height, depth;
};

Box box_of(const Side& side, const Extent& extent) {
  require(side.type != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_NOT_SUPPORTED);
  require(side.type >= CU_MEMORYTYPE_HOST && side.type <= CU_MEMORYTYPE_UNIFIED, CUDA_ERROR_INVALID_VALUE);
  require(side.x + extent.width <= side.pitch || (extent.height == 1 && extent.depth == 1), CUDA_ERROR_INVALID_VALUE);
  require(side.y + extent.height <= side.height || extent.depth == 1, CUDA_ERROR_INVALID_VALUE);
  const bool host = side.type == CU_MEMORYTYPE_HOST;
  const auto plane = side.pitch * side.height;
  const auto first =
      (host ? reinterpret_cast<CUdeviceptr>(side.host) : side.device) + side.x + side.y * side.pitch + side.z * plane;
  const auto bytes = (extent.depth - 1) * plane + (extent.height - 1) * side.pitch + extent.width;
  const auto place = place_of(first, bytes, side.type == CU_MEMORYTYPE_DEVICE ? Must::be_known : Must::exist);
  return {place.bytes, side.pitch, plane, place.where};
}

void copy(const Box& to, const Box& from, const Extent& extent) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    for (std::size_t y = 0; y < extent.height; ++y)
      std::memmove(to.at + z * to.plane + y * to.row, from.at + z * from.plane + y * from.row, extent.width);
}

void copy_async(Call& c, CUstream in, const Side& to_side, const Side& from_side, const Extent& extent) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return;
  const auto stream = stream_of(c.context, in);
  const auto context = stream->context.lock();
  const auto to = box_of(to_side, extent), from = box_of(from_side, extent);
  const auto work = put(stream, [=] { copy(to, from, extent); });
  if (to.where != Where::pageable && from.where != Where::pageable) return;
  wait_for(work, c.lock);
  context->check();
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* box, CUstream stream) {
  return call({"cuMemcpy3DAsync", Class::copy}, [&](Call& c) {
    const auto& b = *given(box);
    copy_async(c, stream,
               {b.dstMemoryType, b.dstDevice, b.dstHost, b.dstXInBytes, b.dstY, b.dstZ, b.dstPitch, b.dstHeight},
               {b.srcMemoryType, b.srcDevice, b.srcHost, b.srcXInBytes, b.srcY, b.srcZ, b.srcPitch, b.srcHeight},
               {b.WidthInBytes, b.Height, b.Depth});
  });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* rows, CUstream stream) {
  return call({"cuMemcpy2DAsync", Class::copy}, [&](Call& c) {
    const auto& r = *given(rows);
    copy_async(c, stream, {r.dstMemoryType, r.dstDevice, r.dstHost, r.dstXInBytes, r.dstY, 0, r.dstPitch, 0},
               {r.srcMemoryType, r.srcDevice, r.srcHost, r.srcXInBytes, r.srcY, 0, r.srcPitch, 0},
               {r.WidthInBytes, r.Height, 1});
  });
}
