#include "image.hpp"

/// Without nvcc its first byte is 0.
extern "C" const char bench_triggered_image[];

namespace triggered {

using bench::driver;

CUfunction kernel_of(const char* name) {
  static const auto module = [] {
    CUmodule made{};
    const bool loaded =
        bench_triggered_image[0] && driver().cuModuleLoadData(&made, bench_triggered_image) == CUDA_SUCCESS;
    return loaded ? made : nullptr;
  }();
  CUfunction kernel{};
  return module && driver().cuModuleGetFunction(&kernel, module, name) == CUDA_SUCCESS ? kernel : nullptr;
}

}  // namespace triggered
