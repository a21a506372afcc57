// Failures inside the simulator are exceptions. call() in sim/api/call.hpp turns them into error
// codes.
#pragma once

#include "device/cuda_driver_api.h"

namespace dunnage::sim {

struct Error {
  CUresult code;
};

inline void require(bool holds, CUresult otherwise) {
  if (!holds) throw Error{otherwise};
}

template <class Pointer>
Pointer* given(Pointer* out) {
  require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
  return out;
}

}  // namespace dunnage::sim
