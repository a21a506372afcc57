#include <set>
#include <string>
#include <thread>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

using Context = Gpu;

CUcontext create_context() {
  CUcontext made{};
  EXPECT_EQ(cuCtxCreate(&made, nullptr, 0, 0), CUDA_SUCCESS);
  return made;
}

unsigned long long id_of(CUcontext context) {
  unsigned long long id = 0;
  EXPECT_EQ(cuCtxGetId(context, &id), CUDA_SUCCESS);
  return id;
}

CUcontext current() {
  CUcontext context{};
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(Context, IsCurrentInItsThread) {
  EXPECT_EQ(current(), context);
  CUdevice device = -1;
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

TEST_F(Context, Stack) {
  const auto other = create_context();
  EXPECT_EQ(current(), other);
  EXPECT_NE(id_of(other), id_of(context));
  EXPECT_EQ(id_of(nullptr), id_of(other));
  CUcontext popped{};
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, other);
  EXPECT_EQ(current(), context);
  EXPECT_EQ(cuCtxPushCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);  // which pops it
  EXPECT_EQ(current(), context);
}

TEST_F(Context, IsNeeded) {
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  CUdeviceptr address{};
  CUstream s{};
  CUevent e{};
  EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamCreate(&s, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuEventCreate(&e, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Context, PrimaryIsOneForAll) {
  CUcontext again{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, context);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  unsigned flags = 0;
  int active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
}

TEST_F(Context, PrimaryEndsWithTheLastRelease) {
  const auto before = id_of(context);
  ASSERT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  unsigned flags = 0;
  int active = 1;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 0);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_NE(id_of(context), before);
}

TEST_F(Context, PrimaryAfterAReset) {
  const auto before = id_of(context);
  const auto memory = device_memory(1024);
  ASSERT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  unsigned flags = 0;
  int active = 1;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 0);
  EXPECT_NE(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_NE(id_of(context), before);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(device_memory(16)), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(Context, PrimaryIsNotDestroyed) { EXPECT_EQ(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT); }

// As the programming guide has it: copies go into any context's streams, an event only into those
// of its own.
TEST_F(Context, StreamsOfAnother) {
  const auto mine = stream();
  const auto e = event();
  const auto memory = device_memory(16);
  const auto other = create_context();
  const auto theirs = stream();
  EXPECT_EQ(cuEventRecord(e, theirs), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(e, mine), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(theirs, e, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory, 1, 16, mine), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(mine), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(read(memory, 16), std::vector<char>(16, 1));
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(mine), CUDA_SUCCESS);
}

TEST_F(Context, Peers) {
  int count = 0, can = -1;
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(can, 0);
  if (count < 2) GTEST_SKIP() << "one device only";
  CUcontext peer{};
  ASSERT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
  if (!can) GTEST_SKIP() << "the devices cannot reach each other";
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&peer, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(peer, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxEnablePeerAccess(peer, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxDisablePeerAccess(peer), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

TEST_F(Context, Devices) {
  int count = 0;
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  ASSERT_GE(count, 1);
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  std::set<std::string> uuids;
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(cuDeviceGet(&device, i), CUDA_SUCCESS);
    int value = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), CUDA_SUCCESS);
    EXPECT_GT(value, 0);
    EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, device), CUDA_SUCCESS);
    EXPECT_EQ(value, 1);
    std::size_t bytes = 0;
    EXPECT_EQ(cuDeviceTotalMem(&bytes, device), CUDA_SUCCESS);
    EXPECT_GT(bytes, 0u);
    char name[8];
    EXPECT_EQ(cuDeviceGetName(name, sizeof name, device), CUDA_SUCCESS);
    EXPECT_LT(std::strlen(name), sizeof name);
    CUuuid uuid;
    EXPECT_EQ(cuDeviceGetUuid(&uuid, device), CUDA_SUCCESS);
    EXPECT_TRUE(uuids.insert(std::string(uuid.bytes, sizeof uuid.bytes)).second);
  }
}

TEST_F(Context, ErrorsHaveNames) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cuGetErrorName(CUDA_SUCCESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_SUCCESS");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_UNKNOWN, &text), CUDA_SUCCESS);
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(998), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
}  // namespace dunnage::device
