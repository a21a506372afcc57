// What tests of the driver API share.
#pragma once

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <ostream>
#include <vector>

#include <cuda.h>
#include <gtest/gtest.h>

namespace dunnage::device {

inline CUdeviceptr as_device(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

// A fixture: the first device's primary context is current.
class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  void TearDown() override {
    cuCtxSetCurrent(nullptr);
    EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }

  static CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream made{};
    EXPECT_EQ(cuStreamCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  static CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent made{};
    EXPECT_EQ(cuEventCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }
  static CUdeviceptr device_memory(std::size_t bytes) {
    CUdeviceptr made{};
    EXPECT_EQ(cuMemAlloc(&made, bytes), CUDA_SUCCESS);
    return made;
  }
  static char* pinned(std::size_t bytes) {
    void* made{};
    EXPECT_EQ(cuMemAllocHost(&made, bytes), CUDA_SUCCESS);
    std::memset(made, 0, bytes);
    return static_cast<char*>(made);
  }
  static std::vector<char> read(CUdeviceptr from, std::size_t bytes) {
    std::vector<char> got(bytes);
    EXPECT_EQ(cuMemcpyDtoH(got.data(), from, bytes), CUDA_SUCCESS);
    return got;
  }

  CUcontext context{};
};

// Holds a stream up until it is opened.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  ~Gate() { open(); }

  void put_into(CUstream stream) {
    ASSERT_EQ(cuLaunchHostFunc(
                  stream,
                  [](void* self) {
                    auto& gate = *static_cast<Gate*>(self);
                    std::unique_lock lock(gate.mutex_);
                    gate.reached_ = true;
                    gate.changed_.notify_all();
                    gate.changed_.wait(lock, [&] { return gate.open_; });
                  },
                  this),
              CUDA_SUCCESS);
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void open() {
    const std::lock_guard hold(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
};

}  // namespace dunnage::device
