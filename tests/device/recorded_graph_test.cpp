#include "device/recorded_graph.hpp"

#include <stdexcept>
#include <vector>

#include "kernel_test.hpp"

namespace dunnage::device {
namespace {

struct Step {
  CUdeviceptr to;
  std::int64_t factor, value;
};

void run(const dunnageSimLaunch* launch) {
  const auto& step = *static_cast<Step*>(launch->params[0]);
  auto& number = *static_cast<std::int64_t*>(dunnageSimTranslate(reinterpret_cast<void*>(step.to)));
  number = number * step.factor + step.value;
}

class Recorded : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    kernel = kernel_of<Step>("step", run);
    recorder = stream();
  }
  void put(std::int64_t factor, std::int64_t value) const {
    Step step{memory, factor, value};
    void* parameters[] = {&step};
    EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, recorder, parameters, nullptr), CUDA_SUCCESS);
  }
  RecordedGraph two_steps() {
    return RecordedGraph(driver, recorder, [&] {
      put(1, 3);
      put(10, 0);
    });
  }
  std::int64_t number() const {
    EXPECT_EQ(cuStreamSynchronize(recorder), CUDA_SUCCESS);
    return KernelTest::number();
  }

  CUfunction kernel{};
  CUstream recorder{};
};

TEST_F(Recorded, RunsInOrderEachTimeItIsLaunched) {
  const auto graph = two_steps();
  ASSERT_TRUE(graph);
  EXPECT_EQ(number(), 0) << "a recording runs nothing";
  graph.launch(s);
  EXPECT_EQ(number(), 30);
  graph.launch(s);
  EXPECT_EQ(number(), 330);
}

TEST_F(Recorded, IsEmptyIfNothingIsPutOrNobodyWantsGraphs) {
  EXPECT_FALSE(RecordedGraph(driver, recorder, [] {}));
  KernelGraphs::use(KernelGraphs::Use::automatic);
  EXPECT_FALSE(two_steps()) << "the simulated driver";
  EXPECT_EQ(number(), 0) << "nothing is put anywhere";
}

TEST_F(Recorded, AfterAnExceptionTheStreamWorks) {
  const auto fails = [&] {
    return RecordedGraph(driver, recorder, [&] {
      put(1, 7);
      throw std::runtime_error("no");
    });
  };
  EXPECT_THROW(fails(), std::runtime_error);
  EXPECT_EQ(number(), 0);
  put(1, 5);
  EXPECT_EQ(number(), 5);
}

TEST_F(Recorded, IsEmptyIfTheDriverFails) {
  for (const char* call : {"cuStreamBeginCapture", "cuGraphGetNodes", "cuGraphInstantiate", "cuGraphUpload"}) {
    dunnageSimFail(call, 0, CUDA_ERROR_OUT_OF_MEMORY, 0);
    EXPECT_FALSE(two_steps()) << call;
    dunnageSimFailClear();
  }
  EXPECT_TRUE(two_steps());
  dunnageSimFail("cuStreamEndCapture", 0, CUDA_ERROR_OUT_OF_MEMORY, 0);  // leaves the stream as it is
  EXPECT_FALSE(two_steps());
}

TEST_F(Recorded, ThereAreFew) {
  std::vector<RecordedGraph> all;
  for (int i = 0; i < RecordedGraph::most; ++i) all.push_back(two_steps());
  EXPECT_TRUE(all.back());
  EXPECT_FALSE(two_steps());
  all.pop_back();
  EXPECT_TRUE(two_steps());
}

}  // namespace
}  // namespace dunnage::device
