// Failures inside the simulator are thrown, and returned to the program in one place (call.hpp).
#pragma once

#include <cuda.h>

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
