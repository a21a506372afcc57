#include "device/kernel_graphs.hpp"

#include <algorithm>
#include <cstring>

namespace dunnage::device {
namespace {

/// The arguments as the driver wants them. `pointer` points to the parameter.
CUDA_KERNEL_NODE_PARAMS params_of(const KernelLaunch& what, void** pointer) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = what.kernel;
  params.gridDimX = what.blocks;
  params.blockDimX = what.threads;
  params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
  params.sharedMemBytes = what.shared;
  params.kernelParams = pointer;
  return params;
}

}  // namespace

bool KernelGraphs::One::is(const KernelLaunch& other) const {
  return what.kernel == other.kernel && what.blocks == other.blocks && what.threads == other.threads &&
         what.shared == other.shared && parameter.size() == other.bytes &&
         std::memcmp(parameter.data(), other.parameter, other.bytes) == 0;
}

bool KernelGraphs::make(One& one, CUfunction kernel) {
  constexpr std::size_t most_bytes = 32764;  // of the parameters of a kernel
  alignas(16) static const char nothing[most_bytes]{};
  auto* parameter = const_cast<char*>(nothing);
  void* pointer[] = {parameter};
  const auto params = params_of({kernel, 1, 32, 0, nothing, most_bytes}, pointer);
  return driver_.cuGraphCreate(&one.graph, 0) == CUDA_SUCCESS &&
         driver_.cuGraphAddKernelNode(&one.node, one.graph, nullptr, 0, &params) == CUDA_SUCCESS &&
         driver_.cuGraphInstantiate(&one.made, one.graph, 0) == CUDA_SUCCESS;
}

void KernelGraphs::make(CUfunction kernel) {
  const bool can = driver_.cuGraphCreate && driver_.cuGraphAddKernelNode && driver_.cuGraphInstantiate &&
                   driver_.cuGraphExecKernelNodeSetParams && driver_.cuGraphLaunch && driver_.cuGraphExecDestroy &&
                   driver_.cuGraphDestroy;
  const std::lock_guard lock(mutex_);
  if (there_ || !can || !wanted(driver_)) return;
  there_ = std::all_of(all_.begin(), all_.end(), [&](One& one) { return make(one, kernel); });
  if (!there_) release_all();
}

bool KernelGraphs::set(One& one, const KernelLaunch& what) {
  one.parameter.clear();  // it fits nothing if what follows fails
  auto* parameter = const_cast<void*>(what.parameter);
  const auto params = params_of(what, &parameter);
  if (driver_.cuGraphExecKernelNodeSetParams(one.made, one.node, &params) != CUDA_SUCCESS) return false;
  const auto* bytes = static_cast<const char*>(what.parameter);
  one.parameter.assign(bytes, bytes + what.bytes);
  one.what = what;
  return true;
}

bool KernelGraphs::launch(const KernelLaunch& what, CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (!there_ || what.bytes == 0) return false;
  auto found = std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.is(what); });
  if (found == all_.end()) {
    found = std::min_element(all_.begin(), all_.end(), [](const One& a, const One& b) { return a.used < b.used; });
    if (!set(*found, what)) return false;
  }
  found->used = ++launches_;
  check(driver_, driver_.cuGraphLaunch(found->made, stream), "cuGraphLaunch");
  return true;
}

void KernelGraphs::release() {
  const std::lock_guard lock(mutex_);
  release_all();
}

/// The lock is held.
void KernelGraphs::release_all() {
  for (auto& one : all_) {
    if (one.made) driver_.cuGraphExecDestroy(one.made);
    if (one.graph) driver_.cuGraphDestroy(one.graph);
    one = {};
  }
  there_ = false;
}

}  // namespace dunnage::device
