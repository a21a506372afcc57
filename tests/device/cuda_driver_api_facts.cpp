// Compiled twice: with our prototypes, and with the real <cuda.h> (DUNNAGE_REAL_CUDA).
#ifdef DUNNAGE_REAL_CUDA
#include <cuda.h>
#define FACTS facts_of_cuda
#else
#define FACTS facts_of_ours
#endif
#include "cuda_driver_api_facts.hpp"

#include <cstddef>
#include <typeinfo>

#include "device/cuda_driver_api.h"

namespace dunnage::device {
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// `FUNCTION` gives the symbol and the type. Two function types have one mangled name only if all
// parameters agree.
#define FUNCTION(x) {#x, std::string(TEXT(x)) + " " + typeid(decltype(&::x)).name()},
#define CONSTANT(x) {#x, std::to_string((long long)(x))},  // a number, or a handle
#define TYPE(x) \
  {#x, std::string(typeid(::x).name()) + " " + std::to_string(sizeof(::x)) + " " + std::to_string(alignof(::x))},
#define MEMBER(type, member)                                                                                          \
  {#type "." #member, std::to_string(offsetof(::type, member)) + " " + std::to_string(sizeof(::type::member)) + " " + \
                          typeid(decltype(::type::member)).name()},

std::vector<Fact> FACTS() {
  // To the formatter the list is one long expression.
  // clang-format off
  return {
#include "cuda_driver_api_names.inc"
      MEMBER(CUuuid, bytes) MEMBER(CUipcMemHandle, reserved) MEMBER(CUipcEventHandle, reserved)
      MEMBER(CUmemLocation, type) MEMBER(CUmemLocation, id) MEMBER(CUmemAccessDesc, location)
      MEMBER(CUmemAccessDesc, flags) MEMBER(CUmemAllocationProp, type)
      MEMBER(CUmemAllocationProp, requestedHandleTypes) MEMBER(CUmemAllocationProp, location)
      MEMBER(CUmemAllocationProp, win32HandleMetaData)
      MEMBER(CUmemAllocationProp, allocFlags.compressionType)
      MEMBER(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable)
      MEMBER(CUmemAllocationProp, allocFlags.usage) MEMBER(CUmemAllocationProp, allocFlags.reserved)
#define VALUE(type) \
  MEMBER(CUstreamBatchMemOpParams, type.operation) MEMBER(CUstreamBatchMemOpParams, type.address) \
  MEMBER(CUstreamBatchMemOpParams, type.value) MEMBER(CUstreamBatchMemOpParams, type.value64) \
  MEMBER(CUstreamBatchMemOpParams, type.flags) MEMBER(CUstreamBatchMemOpParams, type.alias)
      VALUE(waitValue) VALUE(writeValue) MEMBER(CUstreamBatchMemOpParams, flushRemoteWrites.flags)
      MEMBER(CUstreamBatchMemOpParams, memoryBarrier.flags)
#define BOX(type) \
  MEMBER(type, srcXInBytes) MEMBER(type, srcY) MEMBER(type, srcMemoryType) MEMBER(type, srcHost) \
  MEMBER(type, srcDevice) MEMBER(type, srcArray) MEMBER(type, srcPitch) MEMBER(type, dstXInBytes) \
  MEMBER(type, dstY) MEMBER(type, dstMemoryType) MEMBER(type, dstHost) MEMBER(type, dstDevice) \
  MEMBER(type, dstArray) MEMBER(type, dstPitch) MEMBER(type, WidthInBytes) MEMBER(type, Height)
      MEMBER(CUDA_KERNEL_NODE_PARAMS, func) MEMBER(CUDA_KERNEL_NODE_PARAMS, gridDimX)
      MEMBER(CUDA_KERNEL_NODE_PARAMS, gridDimY) MEMBER(CUDA_KERNEL_NODE_PARAMS, gridDimZ)
      MEMBER(CUDA_KERNEL_NODE_PARAMS, blockDimX) MEMBER(CUDA_KERNEL_NODE_PARAMS, blockDimY)
      MEMBER(CUDA_KERNEL_NODE_PARAMS, blockDimZ) MEMBER(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes)
      MEMBER(CUDA_KERNEL_NODE_PARAMS, kernelParams) MEMBER(CUDA_KERNEL_NODE_PARAMS, extra)
      MEMBER(CUDA_KERNEL_NODE_PARAMS, kern) MEMBER(CUDA_KERNEL_NODE_PARAMS, ctx)
      BOX(CUDA_MEMCPY2D) BOX(CUDA_MEMCPY3D) MEMBER(CUDA_MEMCPY3D, srcZ)
      MEMBER(CUDA_MEMCPY3D, srcLOD) MEMBER(CUDA_MEMCPY3D, reserved0)
      MEMBER(CUDA_MEMCPY3D, srcHeight) MEMBER(CUDA_MEMCPY3D, dstZ) MEMBER(CUDA_MEMCPY3D, dstLOD)
      MEMBER(CUDA_MEMCPY3D, reserved1) MEMBER(CUDA_MEMCPY3D, dstHeight) MEMBER(CUDA_MEMCPY3D, Depth)};
  // clang-format on
}

#ifdef DUNNAGE_REAL_CUDA
int version_of_cuda() { return CUDA_VERSION; }
#endif

}  // namespace dunnage::device
