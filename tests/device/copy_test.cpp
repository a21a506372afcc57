#include <numeric>
#include <thread>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

constexpr std::size_t size = 1000;

class Copy : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    a = device_memory(size);
    b = device_memory(size);
    s = stream();
    std::iota(bytes.begin(), bytes.end(), 0);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(a), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(b), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
    Gpu::TearDown();
  }

  CUdeviceptr a{}, b{};
  CUstream s{};
  std::vector<char> bytes = std::vector<char>(size);
};

TEST_F(Copy, ThereAndBack) {
  std::vector<char> got(size);
  ASSERT_EQ(cuMemcpyHtoD(a, bytes.data(), size), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoD(b, a, size), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(got.data(), b, size), CUDA_SUCCESS);
  EXPECT_EQ(got, bytes);
}

TEST_F(Copy, ByAddressAlone) {
  std::vector<char> got(size), also(size);
  ASSERT_EQ(cuMemcpy(a, as_device(bytes.data()), size), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpy(b, a, size), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpy(as_device(got.data()), b, size), CUDA_SUCCESS);
  EXPECT_EQ(got, bytes);
  ASSERT_EQ(cuMemcpy(as_device(also.data()), as_device(bytes.data()), size), CUDA_SUCCESS);
  EXPECT_EQ(also, bytes);
}

TEST_F(Copy, InAStream) {
  std::vector<char> got(size);
  ASSERT_EQ(cuMemcpyHtoDAsync(a, bytes.data(), size, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoDAsync(b, a, size - 10, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyAsync(b + size - 10, a + size - 10, 10, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoHAsync(got.data(), b, size, s), CUDA_SUCCESS);
  EXPECT_EQ(got, bytes);  // pageable: the call waits
}

TEST_F(Copy, PageableMemoryIsReadBeforeTheCallReturns) {
  const auto before = bytes;
  ASSERT_EQ(cuMemcpyHtoDAsync(a, bytes.data(), size, s), CUDA_SUCCESS);
  std::fill(bytes.begin(), bytes.end(), 0);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(read(a, size), before);
}

TEST_F(Copy, PinnedMemoryIsReadWhenTheStreamGetsThere) {
  const auto memory = pinned(size);
  Gate gate;
  gate.put_into(s);
  ASSERT_EQ(cuMemcpyHtoDAsync(a, memory, size, s), CUDA_SUCCESS);
  std::memset(memory, 3, size);
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(read(a, size), std::vector<char>(size, 3));
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
}

TEST_F(Copy, RegisteredMemoryIsPinned) {
  ASSERT_EQ(cuMemHostRegister(bytes.data(), size, 0), CUDA_SUCCESS);
  Gate gate;
  gate.put_into(s);
  ASSERT_EQ(cuMemcpyDtoHAsync(bytes.data(), a, size, s), CUDA_SUCCESS);  // does not wait for the gate
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), CUDA_SUCCESS);
}

TEST_F(Copy, OnTheDeviceTheCallDoesNotWait) {
  ASSERT_EQ(cuMemsetD8(a, 1, size), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8(b, 2, size), CUDA_SUCCESS);
  Gate gate;
  gate.put_into(nullptr);
  ASSERT_EQ(cuMemcpyDtoD(b, a, size), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(read(b, size), std::vector<char>(size, 1));
}

TEST_F(Copy, SynchronousOnesWaitForBlockingStreams) {
  const auto blocking = stream(CU_STREAM_DEFAULT);
  ASSERT_EQ(cuMemsetD8Async(a, 1, size, blocking), CUDA_SUCCESS);
  Gate gate;
  gate.put_into(blocking);
  ASSERT_EQ(cuMemsetD8Async(a, 2, size, blocking), CUDA_SUCCESS);
  std::thread later([&] { gate.open(); });
  EXPECT_EQ(read(a, size), std::vector<char>(size, 2));
  later.join();
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
}

TEST_F(Copy, WithinAnAllocationOnly) {
  EXPECT_EQ(cuMemcpyDtoH(bytes.data(), 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(as_device(bytes.data()), bytes.data(), 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(a, bytes.data(), 0), CUDA_SUCCESS);
  const auto freed = device_memory(size);
  ASSERT_EQ(cuMemFree(freed), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(bytes.data(), freed, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copy, Fill) {
  ASSERT_EQ(cuMemsetD8Async(a, 7, size, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32Async(a + 4, 0x01020304, 2, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(read(a, 14), (std::vector<char>{7, 7, 7, 7, 4, 3, 2, 1, 4, 3, 2, 1, 7, 7}));
  EXPECT_EQ(cuMemsetD32Async(a + 1, 0, 1, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Copy, BetweenDevices) {
  int count = 0;
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  if (count < 2) GTEST_SKIP() << "one device only";
  CUcontext peer{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&peer, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(peer), CUDA_SUCCESS);
  const auto there = device_memory(size);
  ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoD(a, bytes.data(), size), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyPeer(there, peer, a, context, size), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyPeerAsync(b, context, there, peer, size, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(read(b, size), bytes);
  EXPECT_EQ(cuMemFree(there), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

// Rows of 3 bytes, 10 apart, into 4 apart; two planes of them.
TEST_F(Copy, Boxes) {
  ASSERT_EQ(cuMemcpyHtoDAsync(a, bytes.data(), size, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(b, 99, size, s), CUDA_SUCCESS);
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = a;
  box.srcXInBytes = 1;
  box.srcPitch = 10;
  box.srcHeight = 5;
  box.dstDevice = b;
  box.dstPitch = 4;
  box.dstHeight = 2;
  box.WidthInBytes = 3;
  box.Height = box.Depth = 2;
  ASSERT_EQ(cuMemcpy3DAsync(&box, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(read(b, 16), (std::vector<char>{1, 2, 3, 99, 11, 12, 13, 99, 51, 52, 53, 99, 61, 62, 63, 99}));

  std::vector<char> got(6);
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.srcDevice = a;
  rows.srcY = 1;
  rows.srcPitch = 10;
  rows.dstMemoryType = CU_MEMORYTYPE_HOST;
  rows.dstHost = got.data();
  rows.dstPitch = 3;
  rows.WidthInBytes = 3;
  rows.Height = 2;
  ASSERT_EQ(cuMemcpy2DAsync(&rows, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(got, (std::vector<char>{10, 11, 12, 20, 21, 22}));
  rows.srcPitch = 2;
  EXPECT_EQ(cuMemcpy2DAsync(&rows, s), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace dunnage::device
