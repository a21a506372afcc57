#include <thread>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto thread_local_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

class Capture : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    s = stream();
  }
  void TearDown() override {
    EXPECT_EQ(cuStreamDestroy(s), CUDA_SUCCESS);
    Gpu::TearDown();
  }

  void begin(CUstreamCaptureMode mode) { ASSERT_EQ(cuStreamBeginCapture(s, mode), CUDA_SUCCESS); }
  // Ends the capture, and says how that went.
  CUresult end() {
    CUgraph graph{};
    const auto result = cuStreamEndCapture(s, &graph);
    EXPECT_EQ(graph != nullptr, result == CUDA_SUCCESS);
    if (graph) {
      EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    }
    return result;
  }
  static CUstreamCaptureStatus status(CUstream of) {
    CUstreamCaptureStatus got{};
    EXPECT_EQ(cuStreamIsCapturing(of, &got), CUDA_SUCCESS);
    return got;
  }
  static CUresult allocate() {
    CUdeviceptr memory{};
    const auto result = cuMemAlloc(&memory, 16);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    }
    return result;
  }
  // The same in another thread.
  CUresult allocate_elsewhere(CUstreamCaptureMode mode = global) const {
    CUresult result{};
    std::thread([&] {
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
      result = allocate();
    }).join();
    return result;
  }

  CUstream s{};
};

TEST_F(Capture, RecordsAndDoesNotRun) {
  const auto memory = device_memory(16);
  ASSERT_EQ(cuMemsetD8(memory, 1, 16), CUDA_SUCCESS);
  begin(global);
  EXPECT_EQ(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuMemsetD8Async(memory, 2, 16, s), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
  EXPECT_EQ(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(read(memory, 16), std::vector<char>(16, 1));
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Capture, GlobalForbidsUnsafeCallsInEveryThread) {
  begin(global);
  EXPECT_EQ(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(global);
  EXPECT_EQ(allocate_elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(global);
  EXPECT_EQ(allocate_elsewhere(thread_local_mode), CUDA_SUCCESS);
  EXPECT_EQ(allocate_elsewhere(relaxed), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
}

TEST_F(Capture, ThreadLocalForbidsThemInItsThread) {
  begin(thread_local_mode);
  EXPECT_EQ(allocate_elsewhere(), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
  begin(thread_local_mode);
  EXPECT_EQ(allocate(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, RelaxedForbidsNone) {
  begin(relaxed);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
}

TEST_F(Capture, AThreadMayRelaxItself) {
  auto mode = relaxed;
  begin(global);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, global);
  EXPECT_EQ(allocate(), CUDA_SUCCESS);
  ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, relaxed);
  EXPECT_EQ(end(), CUDA_SUCCESS);
}

TEST_F(Capture, WaitingForACapturedStreamIsForbiddenAlways) {
  for (const auto mode : {global, thread_local_mode, relaxed}) {
    begin(mode);
    EXPECT_EQ(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(mode);
    EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(Capture, CapturedEventsAreNotAskedFor) {
  const auto e = event();
  begin(relaxed);
  EXPECT_EQ(cuEventRecord(e, s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuEventSynchronize(e), CUDA_ERROR_CAPTURED_EVENT);
  end();
  EXPECT_EQ(cuEventRecord(e, s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(e), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
}

TEST_F(Capture, TheLegacyDefaultStream) {
  EXPECT_EQ(cuStreamBeginCapture(nullptr, relaxed), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const auto memory = device_memory(16);
  const auto blocking = stream(CU_STREAM_DEFAULT);
  begin(relaxed);  // in a non-blocking stream: nothing to do with it
  EXPECT_EQ(cuMemsetD8Async(memory, 1, 16, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(end(), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(blocking, relaxed), CUDA_SUCCESS);
  CUstreamCaptureStatus of{};
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &of), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuMemsetD8Async(memory, 1, 16, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph{};
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Capture, TakesOtherStreamsInAndBack) {
  const auto memory = device_memory(16);
  const auto other = stream();
  const auto fork = event(), back = event();
  for (const bool joined : {true, false}) {
    begin(global);
    ASSERT_EQ(cuEventRecord(fork, s), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(other, fork, 0), CUDA_SUCCESS);
    EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ASSERT_EQ(cuMemsetD8Async(memory, 1, 16, other), CUDA_SUCCESS);
    if (joined) {
      ASSERT_EQ(cuEventRecord(back, other), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamWaitEvent(s, back, 0), CUDA_SUCCESS);
    }
    EXPECT_EQ(end(), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(status(other), CU_STREAM_CAPTURE_STATUS_NONE);
  }
  for (const auto e : {fork, back}) EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(Capture, EventsFromOutsideDoNotComeIn) {
  const auto e = event();
  const auto other = stream();
  ASSERT_EQ(cuEventRecord(e, other), CUDA_SUCCESS);
  begin(global);
  EXPECT_EQ(cuStreamWaitEvent(s, e, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuEventDestroy(e), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(Capture, EndsWhereItBegan) {
  EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
  begin(global);
  EXPECT_EQ(cuStreamBeginCapture(s, global), CUDA_ERROR_ILLEGAL_STATE);
  std::thread([&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  end();
}

}  // namespace
}  // namespace dunnage::device
