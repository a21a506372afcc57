#include "sim/graph.hpp"

#include "sim/context.hpp"
#include "sim/driver.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {

std::shared_ptr<GraphExec> instantiate(const Graph& graph, const std::shared_ptr<Context>& context) {
  auto made = std::make_shared<GraphExec>();
  made->owner = context->id;
  made->nodes = graph.nodes;
  // A node continues the branch of the first node before it that nothing continues yet. A graph
  // that was captured in one stream is thus one branch.
  constexpr auto none = ~std::size_t{0};
  std::vector<std::size_t> end{none};  // the last node of each branch
  for (std::size_t node = 0; node < made->nodes.size(); ++node) {
    std::size_t branch = none;
    for (const auto before : made->nodes[node].after)
      if (branch == none && end[made->branch_of[before]] == before) branch = made->branch_of[before];
    if (branch == none && end[0] == none) branch = 0;
    if (branch == none) {
      branch = end.size();
      end.push_back(none);
      made->branches.push_back(make_stream(context, CU_STREAM_NON_BLOCKING));
    }
    end[branch] = node;
    made->branch_of.push_back(branch);
  }
  return made;
}

void launch(GraphExec& graph, const std::shared_ptr<Stream>& stream) {
  const auto begin = put(stream, nullptr);
  if (graph.last && !graph.last->done) begin->after.push_back(graph.last);
  std::vector<std::shared_ptr<Work>> works;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const auto branch = graph.branch_of[node];
    const auto fault = graph.nodes[node].kernel ? driver().faults.due("kernel") : std::nullopt;
    const auto work = put(branch == 0 ? stream : graph.branches[branch - 1], graph.nodes[node].run,
                          fault ? fault->code : CUDA_SUCCESS, graph.nodes[node].waits);
    work->after.push_back(begin);
    for (const auto before : graph.nodes[node].after) work->after.push_back(works[before]);
    works.push_back(work);
  }
  const auto end = put(stream, nullptr);
  end->after.insert(end->after.end(), works.begin(), works.end());
  graph.last = end;
}

void retire(GraphExec& graph) {
  for (const auto& stream : graph.branches) {
    stream->end();
    if (const auto context = stream->context.lock(); context && !stream->started) std::erase(context->streams, stream);
  }
}

}  // namespace dunnage::sim
