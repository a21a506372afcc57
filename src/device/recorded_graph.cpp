#include "device/recorded_graph.hpp"

#include "device/kernel_graphs.hpp"

namespace dunnage::device {
namespace {

std::atomic<int> there{0};

}  // namespace

RecordedGraph::~RecordedGraph() {
  if (!made_) return;
  driver_->cuGraphExecDestroy(made_);
  --there;
}

bool RecordedGraph::begin(CUstream stream) const {
  const auto& d = *driver_;
  const bool can = d.cuStreamBeginCapture && d.cuStreamEndCapture && d.cuGraphGetNodes && d.cuGraphInstantiate &&
                   d.cuGraphUpload && d.cuGraphLaunch && d.cuGraphDestroy && d.cuGraphExecDestroy;
  return can && KernelGraphs::wanted(d) && there < most &&
         d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS;
}

void RecordedGraph::end(CUstream stream, bool make) {
  const auto& d = *driver_;
  CUgraph graph = nullptr;
  if (d.cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS || !graph) return;
  std::size_t nodes = 0;
  make = make && d.cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS && nodes > 0;
  if (make && d.cuGraphInstantiate(&made_, graph, 0) != CUDA_SUCCESS) made_ = nullptr;
  d.cuGraphDestroy(graph);
  if (!made_) return;
  ++there;
  // Otherwise the first launch does that, where waiting is not allowed.
  if (d.cuGraphUpload(made_, stream) != CUDA_SUCCESS || d.cuStreamSynchronize(stream) != CUDA_SUCCESS)
    *this = RecordedGraph();
}

void RecordedGraph::launch(CUstream stream) const {
  check(*driver_, driver_->cuGraphLaunch(made_, stream), "cuGraphLaunch");
}

}  // namespace dunnage::device
