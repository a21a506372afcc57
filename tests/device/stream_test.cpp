#include <algorithm>
#include <thread>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

using Stream = Gpu;

void note(std::vector<int>& log, CUstream stream, int value) {
  struct Entry {
    std::vector<int>* log;
    int value;
  };
  ASSERT_EQ(cuLaunchHostFunc(
                stream,
                [](void* data) {
                  const auto* entry = static_cast<Entry*>(data);
                  entry->log->push_back(entry->value);
                  delete entry;
                },
                new Entry{&log, value}),
            CUDA_SUCCESS);
}

// Time for what may run to have run.
void let_others_run() {
  CUstream free{};
  ASSERT_EQ(cuStreamCreate(&free, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(cuLaunchHostFunc(
                  free, [](void*) {}, nullptr),
              CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(free), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamDestroy(free), CUDA_SUCCESS);
}

TEST_F(Stream, KeepsItsOrder) {
  const auto s = stream();
  std::vector<int> log;
  for (int i = 0; i < 50; ++i) note(log, s, i);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  ASSERT_EQ(log.size(), 50u);
  EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Stream, CallsReturnBeforeTheWorkIsDone) {
  const auto s = stream();
  const auto to = pinned(16);
  const auto from = device_memory(16);
  ASSERT_EQ(cuMemsetD8(from, 7, 16), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  Gate gate;
  gate.put_into(s);
  ASSERT_EQ(cuMemcpyDtoHAsync(to, from, 16, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(to[0], 0);
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_SUCCESS);
  EXPECT_EQ(to[0], 7);
  EXPECT_EQ(to[15], 7);
  EXPECT_EQ(cuMemFree(from), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(to), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Stream, OthersGoOnMeanwhile) {
  const auto held = stream(), free = stream();
  Gate gate;
  gate.put_into(held);
  std::vector<int> log;
  note(log, free, 1);
  ASSERT_EQ(cuStreamSynchronize(free), CUDA_SUCCESS);
  EXPECT_EQ(log, std::vector<int>{1});
  EXPECT_EQ(cuStreamQuery(held), CUDA_ERROR_NOT_READY);
  gate.open();
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(held), CUDA_SUCCESS);
  for (const auto s : {held, free}) EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Stream, TheLegacyDefaultStreamWaitsForBlockingStreams) {
  const auto s = stream(CU_STREAM_DEFAULT);
  Gate gate;
  gate.put_into(s);
  std::vector<int> log;
  note(log, s, 1);
  note(log, nullptr, 2);
  let_others_run();
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Stream, BlockingStreamsWaitForTheLegacyDefaultStream) {
  const auto s = stream(CU_STREAM_DEFAULT);
  Gate gate;
  gate.put_into(CU_STREAM_LEGACY);
  std::vector<int> log;
  note(log, nullptr, 1);
  note(log, s, 2);
  let_others_run();
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  gate.open();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Stream, NonBlockingStreamsDoNot) {
  const auto s = stream();
  Gate gate;
  gate.put_into(nullptr);
  std::vector<int> log;
  note(log, s, 1);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(log, std::vector<int>{1});
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  gate.open();
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(Stream, EachThreadHasADefaultStreamOfItsOwn) {
  Gate gate;
  gate.put_into(CU_STREAM_PER_THREAD);
  std::thread([&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    std::vector<int> log;
    note(log, CU_STREAM_PER_THREAD, 1);
    ASSERT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    EXPECT_EQ(log, std::vector<int>{1});
  }).join();
  EXPECT_EQ(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
}

TEST_F(Stream, DestroyedWithWorkStillDoesIt) {
  const auto s = stream();
  Gate gate;
  gate.put_into(s);
  std::vector<int> log;
  note(log, s, 1);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
  gate.open();
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(log, std::vector<int>{1});
}

TEST_F(Stream, ManyThreadsPutIntoOne) {
  const auto s = stream();
  std::vector<int> log;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      for (int i = 0; i < 20; ++i) note(log, s, i);
    });
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(log.size(), 80u);
  EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
