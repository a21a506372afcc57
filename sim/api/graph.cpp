// Graphs: to make them ready, to launch and to destroy them.
#include "sim/graph.hpp"

#include "sim/api/call.hpp"
#include "sim/context.hpp"

using namespace dunnage::sim;

CUresult cuGraphDestroy(CUgraph graph) {
  return call({"cuGraphDestroy", Class::other, Needs::driver}, [&](Call&) {
    require(driver().graphs.find(graph) != nullptr, CUDA_ERROR_INVALID_VALUE);
    driver().graphs.erase(graph);
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
