// The GPU of a rank.
#pragma once

#include <string>

#include "common/cuda_driver.hpp"

namespace bench {

/// Returns the number of this process among those of its host, as its launcher tells it before
/// MPI_Init. Returns 0 if no launcher tells it.
int rank_before_init();

/// A GPU's primary context, which the CUDA runtime and NCCL use too. It is current for the thread
/// that made it.
class Gpu {
 public:
  /// Takes GPU number `rank` modulo the number of GPUs. Throws NoDevice if there is no GPU.
  explicit Gpu(int rank);
  ~Gpu() { driver().cuDevicePrimaryCtxRelease(device_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  static int count();
  int number() const { return number_; }
  CUdevice device() const { return device_; }
  CUcontext context() const { return context_; }
  std::string name() const;
  std::size_t free_bytes() const;
  void make_current() const { BENCH_CU(cuCtxSetCurrent, context_); }
  /// Returns whether this GPU can reach the memory of the other, and enables the access if so.
  bool reach(const Gpu& other) const;

 private:
  int number_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

/// A stream that does not synchronise with the null stream.
class Stream {
 public:
  Stream() { BENCH_CU(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING); }
  ~Stream() { driver().cuStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void wait() const { BENCH_CU(cuStreamSynchronize, stream_); }

 private:
  CUstream stream_ = nullptr;
};

}  // namespace bench
