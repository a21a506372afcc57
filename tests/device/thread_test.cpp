// Many threads at once; ThreadSanitizer watches.
#include <atomic>
#include <thread>

#include "gpu.hpp"
#include "sim/sim.h"

namespace dunnage::device {
namespace {

using Threads = Gpu;

TEST_F(Threads, EachWithItsOwnMemoryAndStream) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      const auto s = stream();
      const auto size = static_cast<std::size_t>(1000 * (t + 1));
      for (int round = 0; round < 25; ++round) {
        const auto memory = device_memory(size);
        const auto host = pinned(size);
        ASSERT_EQ(cuMemsetD8Async(memory, static_cast<unsigned char>(t + round), size, s), CUDA_SUCCESS);
        ASSERT_EQ(cuMemcpyDtoHAsync(host, memory, size, s), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
        EXPECT_EQ(host[size - 1], t + round);
        EXPECT_EQ(cuMemFreeHost(host), CUDA_SUCCESS);
        EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
      }
      EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
    });
  for (auto& thread : threads) thread.join();
}

// What others do meanwhile fails or succeeds, and nothing breaks.
TEST_F(Threads, AResetMeanwhile) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      cuCtxSetCurrent(context);
      std::vector<char> host(1000);
      while (!stop) {
        CUstream s{};
        CUdeviceptr memory{};
        CUevent e{};
        cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
        cuEventCreate(&e, CU_EVENT_DEFAULT);
        // After a reset the address may be another thread's, whose bytes are not to be touched.
        const bool alone = t == 0 && cuMemAlloc(&memory, host.size()) == CUDA_SUCCESS;
        if (alone) cuMemsetD8Async(memory, 1, host.size(), s);
        cuEventRecord(e, s);
        cuStreamWaitEvent(nullptr, e, 0);
        if (alone) {
          cuMemcpy(as_device(host.data()), memory, host.size());
          cuMemcpyHtoD(memory, host.data(), host.size());
        }
        cuEventSynchronize(e);
        if (alone) cuMemFree(memory);
        cuEventDestroy(e);
        cuStreamDestroy(s);
      }
    });
  for (int round = 0; round < 20; ++round) {
    CUcontext again{};
    EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    EXPECT_EQ(again, context);
    std::this_thread::yield();
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  for (int round = 0; round < 20; ++round) EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
