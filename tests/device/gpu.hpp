// What tests of the driver API share.
#pragma once

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "device/cuda_driver_api.h"

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

// Holds a stream up until it is opened, at its end at the latest.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  ~Gate() { open(); }

  void put_into(CUstream stream) {
    ASSERT_EQ(cuLaunchHostFunc(
                  stream,
                  [](void* data) {
                    const std::unique_ptr<std::shared_ptr<State>> own(static_cast<std::shared_ptr<State>*>(data));
                    (*own)->pass();
                  },
                  new std::shared_ptr<State>(state_)),
              CUDA_SUCCESS);
  }
  // For kernels. The gate must live until they have passed it.
  void pass() { state_->pass(); }
  void wait_until_reached() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->reached; });
  }
  void open() {
    const std::lock_guard hold(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }

 private:
  struct State {  // the stream's too, which may leave it later than the test
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false, open = false;
    void pass() {
      std::unique_lock lock(mutex);
      reached = true;
      changed.notify_all();
      changed.wait(lock, [&] { return open; });
    }
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace dunnage::device
