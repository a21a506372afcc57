#include "gpu.hpp"

namespace dunnage::device {
namespace {

struct Answers {
  unsigned type = 77, managed = 77, ipc = 77;
  int ordinal = 77;
  CUcontext context{};
  CUdeviceptr device{}, start{};
  void* host{};
  std::size_t size = 77;
  unsigned long long id = 77;
};

constexpr CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                         CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                         CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                         CU_POINTER_ATTRIBUTE_CONTEXT,
                                         CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                         CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                         CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                         CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                         CU_POINTER_ATTRIBUTE_BUFFER_ID};

Answers ask(CUdeviceptr address) {
  Answers a;
  void* into[] = {&a.type, &a.managed, &a.ipc, &a.ordinal, &a.context, &a.device, &a.start, &a.host, &a.size, &a.id};
  auto* const attributes = const_cast<CUpointer_attribute*>(asked);
  EXPECT_EQ(cuPointerGetAttributes(std::size(asked), attributes, into, address), CUDA_SUCCESS);
  return a;
}

CUresult ask_one(CUdeviceptr address, CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
  unsigned long long value = 0;
  return cuPointerGetAttribute(&value, attribute, address);
}

using Pointer = Gpu;

TEST_F(Pointer, OfTheDevice) {
  const auto memory = device_memory(1000);
  const auto a = ask(memory + 10);
  EXPECT_EQ(a.type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(a.managed, 0u);
  EXPECT_EQ(a.ipc, 1u);
  EXPECT_EQ(a.ordinal, 0);
  EXPECT_EQ(a.context, context);
  EXPECT_EQ(a.device, memory + 10);
  EXPECT_EQ(a.host, nullptr);
  EXPECT_EQ(a.start, memory);
  EXPECT_EQ(a.size, 1000u);
  EXPECT_EQ(ask_one(memory + 10), CUDA_SUCCESS);
  EXPECT_EQ(ask_one(memory, CU_POINTER_ATTRIBUTE_HOST_POINTER), CUDA_ERROR_INVALID_VALUE);

  const auto other = device_memory(1000);
  EXPECT_NE(ask(other).id, a.id);
  EXPECT_EQ(cuMemFree(other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(ask_one(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pointer, OfAPool) {
  const auto s = stream();
  CUdeviceptr memory{};
  ASSERT_EQ(cuMemAllocAsync(&memory, 1000, s), CUDA_SUCCESS);
  const auto a = ask(memory);
  EXPECT_EQ(a.type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(a.ipc, 0u);
  EXPECT_EQ(a.ordinal, 0);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Pointer, OfPinnedMemory) {
  const auto memory = pinned(1000);
  const auto a = ask(as_device(memory + 10));
  EXPECT_EQ(a.type, unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(a.managed, 0u);
  EXPECT_EQ(a.ipc, 0u);
  EXPECT_EQ(a.context, context);
  EXPECT_EQ(a.device, as_device(memory + 10));
  EXPECT_EQ(a.host, memory + 10);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(ask_one(as_device(memory)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pointer, OfRegisteredMemory) {
  std::vector<char> memory(100000);
  EXPECT_EQ(ask_one(as_device(memory.data())), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemHostRegister(memory.data(), memory.size(), 0), CUDA_SUCCESS);
  EXPECT_EQ(ask(as_device(memory.data() + 5000)).type, unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
  EXPECT_EQ(ask_one(as_device(memory.data())), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pointer, OfManagedMemory) {
  CUdeviceptr memory{};
  ASSERT_EQ(cuMemAllocManaged(&memory, 1000, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  const auto a = ask(memory + 10);
  EXPECT_EQ(a.managed, 1u);
  EXPECT_EQ(a.ipc, 0u);
  EXPECT_EQ(a.host, reinterpret_cast<void*>(memory + 10));
  EXPECT_EQ(a.device, memory + 10);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Pointer, ThatTheDriverDoesNotKnow) {
  const std::vector<char> memory(1000);
  const auto a = ask(as_device(memory.data()));
  EXPECT_EQ(a.type, 0u);
  EXPECT_EQ(a.managed, 0u);
  EXPECT_EQ(a.ipc, 0u);
  EXPECT_EQ(a.context, nullptr);
  EXPECT_EQ(a.device, 0u);
  EXPECT_EQ(a.host, nullptr);
  EXPECT_EQ(ask_one(as_device(memory.data())), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask_one(0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pointer, OfAnotherDevice) {
  int count = 0;
  ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  if (count < 2) GTEST_SKIP() << "one device only";
  CUcontext peer{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&peer, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(peer), CUDA_SUCCESS);
  const auto memory = device_memory(1000);
  ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ask(memory).ordinal, 1);
  EXPECT_EQ(ask(memory).context, peer);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

TEST_F(Pointer, IsAskedWithoutAContextToo) {
  const auto memory = device_memory(16);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ask_one(memory), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
