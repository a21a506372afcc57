#include <chrono>
#include <thread>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

class MemoryOperation : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    a = stream();
    b = stream();
    memory = device_memory(64);
    ASSERT_EQ(cuMemsetD8(memory, 0, 64), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);  // the streams do not wait for the legacy default stream
  }
  void TearDown() override {
    EXPECT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    for (const auto s : {a, b}) EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
    Gpu::TearDown();
  }
  template <class Word>
  Word word(int i) {
    Word got{};
    const auto bytes = read(memory + static_cast<CUdeviceptr>(i) * sizeof(Word), sizeof(Word));
    std::memcpy(&got, bytes.data(), sizeof got);
    return got;
  }
  CUdeviceptr at(int i) const { return memory + static_cast<CUdeviceptr>(i) * 8; }

  CUstream a{}, b{};
  CUdeviceptr memory{};
};

TEST_F(MemoryOperation, WritesInTheOrderOfTheStream) {
  ASSERT_EQ(cuStreamWriteValue64(a, at(0), 0x1122334455667788, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue32(a, at(1), 0xAABBCCDD, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(at(2), 1, 8, a), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue32(a, at(2), 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(word<std::uint64_t>(0), 0x1122334455667788u);
  EXPECT_EQ(word<std::uint64_t>(1), 0xAABBCCDDu);
  EXPECT_EQ(word<std::uint64_t>(2), 0x0101010100000000u);
}

TEST_F(MemoryOperation, AWaitHoldsUpItsStreamOnly) {
  ASSERT_EQ(cuStreamWaitValue64(a, at(0), 7, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyAsync(at(2), at(1), 8, a), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(at(1), 5, 8, b), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue64(b, at(0), 6, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuStreamWriteValue64(b, at(0), 8, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(word<std::uint64_t>(2), 0x0505050505050505u);
}

TEST_F(MemoryOperation, Conditions) {
  const auto goes_on = [&](std::uint32_t there, std::uint32_t value, unsigned flags) {
    EXPECT_EQ(cuStreamWriteValue32(b, at(0), there, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitValue32(a, at(0), value, flags), CUDA_SUCCESS);
    return cuStreamSynchronize(a) == CUDA_SUCCESS;
  };
  EXPECT_TRUE(goes_on(5, 5, CU_STREAM_WAIT_VALUE_EQ));
  EXPECT_TRUE(goes_on(6, 2, CU_STREAM_WAIT_VALUE_AND));
  EXPECT_TRUE(goes_on(6, 2, CU_STREAM_WAIT_VALUE_NOR));
  // Numbers go around.
  EXPECT_TRUE(goes_on(1, 0xFFFFFFF0, CU_STREAM_WAIT_VALUE_GEQ | CU_STREAM_WAIT_VALUE_FLUSH));
}

TEST_F(MemoryOperation, ABatchIsDoneInOrder) {
  CUstreamBatchMemOpParams operations[3]{};
  operations[0].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_64, at(0), {}, CU_STREAM_WAIT_VALUE_GEQ, 0};
  operations[0].waitValue.value64 = 1;
  operations[1].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_64, at(1), {}, 0, 0};
  operations[1].writeValue.value64 = 2;
  operations[2].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, at(2), {}, 0, 0};
  operations[2].writeValue.value = 3;
  ASSERT_EQ(cuStreamBatchMemOp(a, 3, operations, 0), CUDA_SUCCESS);
  EXPECT_EQ(word<std::uint64_t>(1), 0u);
  ASSERT_EQ(cuStreamWriteValue64(b, at(0), 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(a), CUDA_SUCCESS);
  EXPECT_EQ(word<std::uint64_t>(1), 2u);
  EXPECT_EQ(word<std::uint64_t>(2), 3u);
}

TEST_F(MemoryOperation, WhatIsRefused) {
  EXPECT_EQ(cuStreamWriteValue64(a, at(0) + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(a, at(0) + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
  std::uint64_t pageable = 0;
  EXPECT_EQ(cuStreamWriteValue64(a, as_device(&pageable), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp(a, 1, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryOperation, PageLockedMemoryIsReached) {
  auto* const word = reinterpret_cast<std::uint64_t*>(pinned(8));
  ASSERT_EQ(cuStreamWriteValue64(a, as_device(word), 9, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue64(b, as_device(word), 9, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(b), CUDA_SUCCESS);
  EXPECT_EQ(*word, 9u);
  EXPECT_EQ(cuMemFreeHost(word), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
