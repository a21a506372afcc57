// Operations of cuStreamBatchMemOp on words of 8 bytes.
#pragma once

#include <cstdint>

#include "device/cuda_driver_api.h"

namespace dunnage::device {

inline CUstreamBatchMemOpParams write_of(CUdeviceptr word, std::uint64_t value) {
  CUstreamBatchMemOpParams one{};
  one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  one.writeValue.address = word;
  one.writeValue.value64 = value;
  one.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return one;
}
/// Waits until the word is `value` or greater.
inline CUstreamBatchMemOpParams wait_of(CUdeviceptr word, std::uint64_t value) {
  CUstreamBatchMemOpParams one{};
  one.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  one.waitValue.address = word;
  one.waitValue.value64 = value;
  one.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  return one;
}

}  // namespace dunnage::device
