// Launches of kernels as CUDA graphs of one node.
//
// The driver launches such a graph in less than half of the time that a kernel takes
// (docs/decisions/0033-kernel-graphs.md). To make a graph may wait for kernels that run, because
// the driver takes memory for many graphs at a time. So the graphs are made when the first kernel
// is loaded, which may wait too. Afterwards they only get new arguments.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "device/driver.hpp"

namespace dunnage::device {

/// A kernel with one parameter, whose size is `bytes`.
struct KernelLaunch {
  CUfunction kernel;
  std::uint32_t blocks, threads;
  std::uint32_t shared;  // bytes of a block's shared memory
  const void* parameter;
  std::size_t bytes;
};

/// Of one context. Thread-safe.
class KernelGraphs {
 public:
  enum class Use { automatic, always, never };  // automatic: not with the simulated driver
  /// To be called before the first kernel is loaded.
  static void use(Use use) { use_ = use; }
  /// Whether graphs are to launch kernels of ours.
  static bool wanted(const Driver& driver) {
    return use_ == Use::always || (use_ == Use::automatic && !driver.simulated);
  }

  explicit KernelGraphs(const Driver& driver) : driver_(driver) {}
  KernelGraphs(const KernelGraphs&) = delete;
  KernelGraphs& operator=(const KernelGraphs&) = delete;
  /// Makes the graphs, in the current context, or none if the driver cannot. `kernel`: any kernel
  /// of ours, which they never run.
  void make(CUfunction kernel);
  /// Puts the kernel into a stream of the current context, which no program captures. Returns
  /// false, and does nothing, if there are no graphs. Throws Error.
  bool launch(const KernelLaunch& what, CUstream stream);
  /// Before the context or the kernels go.
  void release();

 private:
  /// A graph, and what it launches.
  struct One {
    CUgraph graph = nullptr;
    CUgraphExec made = nullptr;
    CUgraphNode node = nullptr;
    KernelLaunch what{};  // without the parameter
    std::vector<char> parameter;
    std::uint64_t used = 0;  // the number of its latest launch

    bool is(const KernelLaunch& other) const;
  };
  bool make(One& one, CUfunction kernel);
  bool set(One& one, const KernelLaunch& what);
  void release_all();

  // An exchange has few launches that differ. With 65 graphs in a process the driver takes memory.
  static constexpr std::size_t most = 16;
  inline static Use use_ = Use::automatic;
  const Driver& driver_;
  std::mutex mutex_;
  bool there_ = false;
  std::array<One, most> all_;
  std::uint64_t launches_ = 0;
};

}  // namespace dunnage::device
