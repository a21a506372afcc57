// Graphs that were captured, and their launches.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/capture.hpp"
#include "sim/stream.hpp"

namespace dunnage::sim {

struct Graph {
  unsigned long long owner = 0;  // id of its context
  std::vector<Node> nodes;
};

// A graph that can be launched. Branches run in streams of its own, so that a node that waits holds
// up only what follows it.
struct GraphExec {
  unsigned long long owner = 0;
  std::vector<Node> nodes;
  std::vector<std::size_t> branch_of;             // for each node: 0 is the stream of the launch
  std::vector<std::shared_ptr<Stream>> branches;  // those from 1 on
  std::shared_ptr<Work> last;                     // of the latest launch; launches do not overlap
};

std::shared_ptr<GraphExec> instantiate(const Graph& graph, const std::shared_ptr<Context>& context);
void launch(GraphExec& graph, const std::shared_ptr<Stream>& stream);
// The threads of its streams end when their work is done.
void retire(GraphExec& graph);

}  // namespace dunnage::sim
