// The kernels of kernels.cu, as nvcc compiled them (image.S).
#pragma once

#include "common/cuda_driver.hpp"

namespace triggered {

/// Null if the kernels were not compiled, or the driver does not take them.
CUfunction kernel_of(const char* name);

}  // namespace triggered
