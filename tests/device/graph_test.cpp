#include "gpu.hpp"

namespace dunnage::device {
namespace {

class Graphs : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    s = stream();
    memory = device_memory(64);
    ASSERT_EQ(cuMemsetD8(memory, 0, 64), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);  // the streams do not wait for the legacy default stream
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
    Gpu::TearDown();
  }
  // What f() puts into the stream, as a graph.
  template <class F>
  CUgraphExec captured(F&& f) {
    CUgraph graph{};
    CUgraphExec made{};
    EXPECT_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    f();
    EXPECT_EQ(cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&made, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);  // what was made of it stays
    return made;
  }
  char byte(int i) { return read(memory + static_cast<CUdeviceptr>(i), 1)[0]; }

  CUstream s{};
  CUdeviceptr memory{};
};

TEST_F(Graphs, RunsEachTimeThatItIsLaunched) {
  const auto graph = captured([&] {
    ASSERT_EQ(cuMemcpyAsync(memory + 8, memory, 8, s), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(memory, 3, 8, s), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD32Async(memory + 16, 0x04040404, 2, s), CUDA_SUCCESS);
  });
  EXPECT_EQ(byte(0), 0);
  ASSERT_EQ(cuGraphLaunch(graph, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(byte(0), 3);
  EXPECT_EQ(byte(8), 0);
  EXPECT_EQ(byte(16), 4);
  for (char value = 10; value < 30; ++value) {
    ASSERT_EQ(cuMemsetD8Async(memory, static_cast<unsigned char>(value), 8, s), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(graph, s), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAsync(memory + 32, memory + 8, 8, s), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(byte(32), value);
  }
  EXPECT_EQ(cuGraphExecDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(graph, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, MemoryIsReadWhenItRuns) {
  std::vector<char> pageable(8, 1);
  auto* const locked = pinned(8);
  const auto graph = captured([&] {
    ASSERT_EQ(cuMemcpyHtoDAsync(memory, pageable.data(), 8, s), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyHtoDAsync(memory + 8, locked, 8, s), CUDA_SUCCESS);
  });
  std::fill(pageable.begin(), pageable.end(), 2);
  std::fill_n(locked, 8, 3);
  ASSERT_EQ(cuGraphLaunch(graph, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(byte(7), 2);
  EXPECT_EQ(byte(15), 3);
  EXPECT_EQ(cuGraphExecDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(locked), CUDA_SUCCESS);
}

TEST_F(Graphs, BranchesJoinWhereTheyWereJoined) {
  const auto other = stream();
  const auto fork = event(), back = event();
  const auto graph = captured([&] {
    ASSERT_EQ(cuEventRecord(fork, s), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
    // The branches run at once: each waits for the other.
    ASSERT_EQ(cuStreamWriteValue64(s, memory, 1, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitValue64(other, memory, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWriteValue64(other, memory + 8, 1, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitValue64(s, memory + 8, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(memory + 16, 7, 8, other), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(back, other), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(s, back, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyAsync(memory + 24, memory + 16, 8, s), CUDA_SUCCESS);
  });
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(cuMemsetD8Async(memory, 0, 64, s), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(graph, s), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(byte(24), 7);
  }
  EXPECT_EQ(cuGraphExecDestroy(graph), CUDA_SUCCESS);
  for (const auto e : {fork, back}) EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(Graphs, LaunchesOfOneGraphDoNotOverlap) {
  const auto other = stream();
  const auto graph = captured([&] {
    ASSERT_EQ(cuStreamWaitValue64(s, memory, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(memory + 8, 1, 8, s), CUDA_SUCCESS);
  });
  ASSERT_EQ(cuGraphLaunch(graph, s), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(graph, other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  const auto third = stream();
  ASSERT_EQ(cuStreamWriteValue64(third, memory, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(graph), CUDA_SUCCESS);
  for (const auto made : {other, third}) EXPECT_EQ(cuStreamDestroy(made), CUDA_SUCCESS);
}

TEST_F(Graphs, AnEmptyGraph) {
  const auto graph = captured([] {});
  ASSERT_EQ(cuGraphLaunch(graph, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
