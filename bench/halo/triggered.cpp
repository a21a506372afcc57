// Exchanges that a stream starts and waits for (include/dunnage.h), put into the stream by the host
// or by a graph. The host waits for the stream at the end of each exchange.
#include <stdexcept>

#include "dunnage.h"
#include "halo/exchange.hpp"
#include "halo/requests.hpp"

namespace bench::halo {
namespace {

void ok(int code, const char* what) {
  if (code != MPI_SUCCESS) throw std::runtime_error(what);
}

class Triggered : public Exchange {
 public:
  explicit Triggered(Domain& domain) : messages_(domain, domain.regions(), false) {
    std::vector<MPI_Request> requests;
    for (const auto& m : messages_.receives())
      MPI_Recv_init(m.at, 1, m.type, m.peer, m.tag, domain.comm(), &requests.emplace_back());
    for (const auto& m : messages_.sends())
      MPI_Send_init(m.at, 1, m.type, m.peer, m.tag, domain.comm(), &requests.emplace_back());
    ok(DNG_Queue_create(stream_.get(), &queue_), "DNG_Queue_create");
    ok(DNG_Match(static_cast<int>(requests.size()), requests.data(), &exchange_), "DNG_Match");
  }
  ~Triggered() override {
    DNG_Exchange_free(&exchange_);
    DNG_Queue_free(&queue_);
    if (graph_) driver().cuGraphExecDestroy(graph_);
  }
  /// Returns whether all ranks can capture it.
  bool capture(MPI_Comm comm) {
    CUgraph graph{};
    BENCH_CU(cuStreamBeginCapture, stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    int possible = DNG_Start_enqueue(exchange_, queue_) == MPI_SUCCESS, everywhere = 0;
    if (possible) ok(DNG_Wait_enqueue(exchange_, queue_), "DNG_Wait_enqueue");
    BENCH_CU(cuStreamEndCapture, stream_.get(), &graph);
    if (possible) BENCH_CU(cuGraphInstantiate, &graph_, graph, 0);
    BENCH_CU(cuGraphDestroy, graph);
    MPI_Allreduce(&possible, &everywhere, 1, MPI_INT, MPI_MIN, comm);
    return everywhere;
  }

  void exchange(Phases& phases) override {
    if (graph_)
      BENCH_CU(cuGraphLaunch, graph_, stream_.get());
    else
      enqueue();
    phases.end("start");
    BENCH_CU(cuStreamSynchronize, stream_.get());
    phases.end("wait");
  }

 private:
  void enqueue() {
    ok(DNG_Start_enqueue(exchange_, queue_), "DNG_Start_enqueue");
    ok(DNG_Wait_enqueue(exchange_, queue_), "DNG_Wait_enqueue");
  }
  const Messages messages_;
  Stream stream_;
  DNG_Queue queue_ = DNG_QUEUE_NULL;
  DNG_Exchange exchange_ = DNG_EXCHANGE_NULL;
  CUgraphExec graph_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchange> make_triggered(Domain& domain, Mover& mover, bool graph) {
  if (mover.where() == Where::host) return nullptr;
  auto made = std::make_unique<Triggered>(domain);
  if (graph && !made->capture(domain.comm())) return nullptr;
  return made;
}

}  // namespace bench::halo
