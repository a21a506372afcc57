#include "gpu.hpp"

namespace dunnage::device {
namespace {

using Event = Gpu;

TEST_F(Event, IsDoneWhereNothingWasRecorded) {
  const auto e = event();
  EXPECT_EQ(cuEventQuery(e), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, e, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
}

TEST_F(Event, IsDoneWithTheWorkBeforeIt) {
  const auto s = stream();
  const auto e = event();
  Gate before, after;
  before.put_into(s);
  ASSERT_EQ(cuEventRecord(e, s), CUDA_SUCCESS);
  after.put_into(s);
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_NOT_READY);
  before.open();
  EXPECT_EQ(cuEventSynchronize(e), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  after.open();
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

// The second stream reads what the first writes: with the wait always the new bytes.
TEST_F(Event, OrdersTwoStreams) {
  const auto writer = stream(), reader = stream();
  const auto e = event();
  const auto memory = device_memory(64);
  const auto seen = pinned(64);
  for (int round = 1; round <= 20; ++round) {
    ASSERT_EQ(cuMemsetD8Async(memory, static_cast<unsigned char>(round), 64, writer), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(e, writer), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(reader, e, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync(seen, memory, 64, reader), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(reader), CUDA_SUCCESS);
    EXPECT_EQ(seen[63], round);
  }
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(seen), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  for (const auto s : {writer, reader}) EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

// Without it the old ones: the writer is held up until the reader is done.
TEST_F(Event, WithoutItTheBytesAreWrong) {
  const auto writer = stream(), reader = stream();
  const auto memory = device_memory(64);
  const auto seen = pinned(64);
  ASSERT_EQ(cuMemsetD8Async(memory, 1, 64, reader), CUDA_SUCCESS);
  Gate gate;
  gate.put_into(writer);
  ASSERT_EQ(cuMemsetD8Async(memory, 2, 64, writer), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoHAsync(seen, memory, 64, reader), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(reader), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 1);
  gate.open();
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(seen), CUDA_SUCCESS);
  for (const auto s : {writer, reader}) EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Event, MeasuresTime) {
  const auto s = stream();
  const auto from = event(CU_EVENT_DEFAULT), to = event(CU_EVENT_DEFAULT), untimed = event();
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), CUDA_ERROR_INVALID_HANDLE);
  Gate gate;
  ASSERT_EQ(cuEventRecord(from, s), CUDA_SUCCESS);
  gate.put_into(s);
  ASSERT_EQ(cuEventRecord(to, s), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(untimed, s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), CUDA_ERROR_NOT_READY);
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, to), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, from, untimed), CUDA_ERROR_INVALID_HANDLE);
  for (const auto e : {from, to, untimed}) EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
