// What tests of ways to launch kernels share.
#pragma once

#include "device/kernel_graphs.hpp"
#include "gpu.hpp"
#include "sim/sim.h"
#include "simulated_driver.hpp"

namespace dunnage::device {

/// A fixture: a number in device memory, a stream, and graphs that are wanted on the simulated
/// device too.
class KernelTest : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    ASSERT_EQ(cuModuleLoadData(&module_, "any image"), CUDA_SUCCESS);
    memory = device_memory(sizeof(std::int64_t));
    ASSERT_EQ(cuMemsetD8(memory, 0, sizeof(std::int64_t)), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);  // the stream does not wait for the legacy default stream
    s = stream();
    KernelGraphs::use(KernelGraphs::Use::always);
  }
  void TearDown() override {
    KernelGraphs::use(KernelGraphs::Use::automatic);
    dunnageSimFailClear();
    Gpu::TearDown();
  }
  /// A kernel whose one parameter is a `Parameter`.
  template <class Parameter>
  CUfunction kernel_of(const char* name, void (*run)(const dunnageSimLaunch*)) {
    const std::size_t size = sizeof(Parameter);
    dunnageSimRegisterKernel(name, run, &size, 1);
    CUfunction made{};
    EXPECT_EQ(cuModuleGetFunction(&made, module_, name), CUDA_SUCCESS);
    return made;
  }
  /// When the stream has ended.
  std::int64_t number() const {
    EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
    std::int64_t got = 0;
    EXPECT_EQ(cuMemcpyDtoH(&got, memory, sizeof got), CUDA_SUCCESS);
    return got;
  }

  const Driver driver = simulated_driver();
  CUdeviceptr memory{};
  CUstream s{};

 private:
  CUmodule module_{};
};

}  // namespace dunnage::device
