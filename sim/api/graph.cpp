// Graphs: to make them, to make them ready, to launch and to destroy them.
#include "sim/graph.hpp"

#include <algorithm>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/launch.hpp"

using namespace dunnage::sim;

namespace {

// A node's handle is its number in the graph, from 1 on.
CUgraphNode handle_of(std::size_t number) { return reinterpret_cast<CUgraphNode>(number); }
Node& node_of(std::vector<Node>& nodes, CUgraphNode handle) {
  const auto number = reinterpret_cast<std::size_t>(handle);
  require(number > 0 && number <= nodes.size(), CUDA_ERROR_INVALID_VALUE);
  return nodes[number - 1];
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return call({"cuGraphCreate"}, [&](Call& c) {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    *given(graph) = driver().graphs.add(std::make_shared<Graph>(Graph{c.context->id, {}}));
  });
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph handle, const CUgraphNode* before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* params) {
  return call({"cuGraphAddKernelNode"}, [&](Call& c) {
    const auto graph = driver().graphs.find(handle);
    require(graph != nullptr && graph->owner == c.context->id, CUDA_ERROR_INVALID_VALUE);
    Node made{{}, work_of(c, *given(params)), true};
    for (size_t i = 0; i < count; ++i) {
      node_of(graph->nodes, given(before)[i]);
      made.after.push_back(reinterpret_cast<std::size_t>(before[i]) - 1);
    }
    graph->nodes.push_back(std::move(made));
    *given(node) = handle_of(graph->nodes.size());
  });
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return call({"cuGraphExecKernelNodeSetParams"}, [&](Call& c) {
    const auto graph = driver().executables.find(handle);
    require(graph != nullptr && graph->owner == c.context->id, CUDA_ERROR_INVALID_VALUE);
    auto& changed = node_of(graph->nodes, node);
    require(changed.kernel, CUDA_ERROR_INVALID_VALUE);
    changed.run = work_of(c, *given(params));  // launches that are under way have the work of before
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return call({"cuGraphDestroy", Class::other, Needs::driver}, [&](Call&) {
    require(driver().graphs.find(graph) != nullptr, CUDA_ERROR_INVALID_VALUE);
    driver().graphs.erase(graph);
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return call({"cuGraphGetNodes", Class::other, Needs::driver}, [&](Call&) {
    const auto graph = driver().graphs.find(handle);
    require(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
    auto& number = *given(count);
    for (size_t i = 0; nodes && i < number; ++i) nodes[i] = i < graph->nodes.size() ? handle_of(i + 1) : nullptr;
    number = nodes ? std::min(number, graph->nodes.size()) : graph->nodes.size();
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream in) {
  return call({"cuGraphUpload"}, [&](Call& c) {
    const auto graph = driver().executables.find(handle);
    require(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
    const auto stream = stream_of(c.context, in);
    require(stream->owner == graph->owner, CUDA_ERROR_INVALID_HANDLE);
    require(!stream->capture, CUDA_ERROR_NOT_SUPPORTED);
  });
}

CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph handle, unsigned long long flags) {
  return call({"cuGraphInstantiate", Class::alloc}, [&](Call& c) {
    require(flags == 0, CUDA_ERROR_NOT_SUPPORTED);
    const auto graph = driver().graphs.find(handle);
    require(graph != nullptr && graph->owner == c.context->id, CUDA_ERROR_INVALID_VALUE);
    *given(made) = driver().executables.add(instantiate(*graph, c.context));
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream in) {
  return call({"cuGraphLaunch", Class::launch}, [&](Call& c) {
    const auto graph = driver().executables.find(handle);
    require(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
    const auto stream = stream_of(c.context, in);
    require(stream->owner == graph->owner, CUDA_ERROR_INVALID_HANDLE);
    require(!stream->capture, CUDA_ERROR_NOT_SUPPORTED);  // it would become a graph within a graph
    launch(*graph, stream);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return call({"cuGraphExecDestroy", Class::other, Needs::driver}, [&](Call&) {
    const auto graph = driver().executables.find(handle);
    require(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
    retire(*graph);
    driver().executables.erase(handle);
  });
}
