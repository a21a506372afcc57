// A ring of ranks by the calls of other interfaces (include/compat). The including program gives
// the calls as a class `Api`.
#pragma once

#include <dlfcn.h>

#include "triggered.hpp"

namespace {

/// The message of one step, in device memory and in two layouts.
class CompatRing {
 public:
  static constexpr int ints = 48;
  CompatRing()
      : out_(layout_of(1, ints)),
        in_(layout_of(3, ints)),
        source_(Kind::device, bytes(out_)),
        target_(Kind::device, bytes(in_)) {
    const auto spans = static_cast<std::size_t>(std::max(out_.span, in_.span));
    host_ = std::make_unique<Pinned>(steps * 2 * spans * sizeof(int));
    stride_ = spans;
    std::fill_n(host_->ints(), steps * 2 * spans, -1);
    for (int step = 0; step < steps; ++step)
      for (int i = 0; i < ints; ++i) sent(step)[out_.offsets[static_cast<std::size_t>(i)]] = value(rank(), step, i);
  }
  ~CompatRing() {
    MPI_Type_free(&out_.type);
    MPI_Type_free(&in_.type);
  }
  CompatRing(const CompatRing&) = delete;
  CompatRing& operator=(const CompatRing&) = delete;

  static int rank() { return contract().rank; }
  static int left() { return (rank() + contract().ranks - 1) % contract().ranks; }
  static int right() { return (rank() + 1) % contract().ranks; }

  /// All in the order of the stream.
  template <class Api>
  void run(Api& api, CUstream stream) {
    for (int step = 0; step < steps; ++step) {
      cuda(cuMemcpyAsync(at(source_.data()), at(sent(step)), bytes(out_), stream), "cuMemcpyAsync");
      api.exchange(source_.data(), out_.type, right(), target_.data(), in_.type, left());
      cuda(cuMemcpyAsync(at(got(step)), at(target_.data()), bytes(in_), stream), "cuMemcpyAsync");
      cuda(cuMemsetD8Async(at(target_.data()), 0, bytes(in_), stream), "cuMemsetD8Async");
      cuda(cuMemsetD8Async(at(source_.data()), 0, bytes(out_), stream), "cuMemsetD8Async");
    }
    cuda(cuStreamSynchronize(stream), "cuStreamSynchronize");
    for (int step = 0; step < steps; ++step) look(step);
  }
  /// In a graph, after run().
  template <class Api>
  void run_graph(Api& api, CUstream stream) {
    CUgraph graph{};
    CUgraphExec made{};
    cuda(cuMemcpyAsync(at(source_.data()), at(sent(0)), bytes(out_), stream), "cuMemcpyAsync");
    std::memset(got(0), 0, bytes(in_));
    cuda(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    api.exchange(source_.data(), out_.type, right(), target_.data(), in_.type, left());
    cuda(cuMemcpyAsync(at(got(0)), at(target_.data()), bytes(in_), stream), "cuMemcpyAsync");
    cuda(cuMemsetD8Async(at(target_.data()), 0, bytes(in_), stream), "cuMemsetD8Async");
    cuda(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    cuda(cuGraphInstantiate(&made, graph, 0), "cuGraphInstantiate");
    for (int launch = 0; launch < 5; ++launch) cuda(cuGraphLaunch(made, stream), "cuGraphLaunch");
    cuda(cuStreamSynchronize(stream), "cuStreamSynchronize");
    look(0);
    cuda(cuGraphExecDestroy(made), "cuGraphExecDestroy");
    cuda(cuGraphDestroy(graph), "cuGraphDestroy");
  }

 private:
  void look(int step) {
    for (int i = 0; i < ints; ++i)
      check_equal(got(step)[in_.offsets[static_cast<std::size_t>(i)]], value(left(), step, i), "the bytes");
  }
  static constexpr int steps = 12;
  static int value(int from, int step, int i) { return from * 100000 + step * 1000 + i + 1; }
  static std::size_t bytes(const Layout& layout) { return static_cast<std::size_t>(layout.span) * sizeof(int); }
  int* sent(int step) { return host_->ints() + static_cast<std::size_t>(2 * step) * stride_; }
  int* got(int step) { return host_->ints() + static_cast<std::size_t>(2 * step + 1) * stride_; }
  Layout out_, in_;
  CudaMemory source_, target_;
  std::unique_ptr<Pinned> host_;
  std::size_t stride_ = 0;
};

/// Each rank its own device, as far as there are some. Returns a new stream.
inline CUstream own_stream() {
  CUstream stream{};
  use_own_device();
  cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return stream;
}

/// How often the host has waited for a stream; 0 without the simulated device.
inline unsigned long long waits_of_host() {
  using Calls = unsigned long long (*)(const char*);
  const auto calls = reinterpret_cast<Calls>(dlsym(RTLD_DEFAULT, "dunnageSimCalls"));
  return calls ? calls("cuStreamSynchronize") : 0;
}

}  // namespace
