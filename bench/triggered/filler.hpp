// A kernel that fills the GPU while messages are measured: many short blocks, in a stream of its
// own.
#pragma once

#include "common/cuda_driver.hpp"

namespace triggered {

/// For the current context. It is never freed.
class Filler {
 public:
  /// Null if there are no compiled kernels.
  static Filler* get();
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  /// Launches the kernel, if it does not run. It ends by itself after a fifth of a second.
  void begin() const;
  bool runs() const;
  void end() const;

 private:
  Filler();
  CUfunction kernel_{};
  CUstream stream_{}, beside_{};
  CUdeviceptr stop_ = 0;  // an int: 1 ends the kernel
};

}  // namespace triggered
