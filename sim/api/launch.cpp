// Launches of kernels, and what a program can ask and set about a kernel.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/device.hpp"
#include "sim/launch.hpp"
#include "sim/sim.h"
#include "sim/stream.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

std::shared_ptr<Function> function_of(const Call& c, CUfunction handle) {
  auto found = driver().functions.find(handle);
  require(found && found->owner == c.context->id, CUDA_ERROR_INVALID_HANDLE);
  return found;
}

// A kernel takes as many of the free blocks as it can use, and at least one. A large grid runs on
// them in turn.
class Resident {
 public:
  Resident(const std::shared_ptr<Context>& context, std::uint64_t wanted) : context_(context) {
    auto& d = driver();
    std::unique_lock lock(d.lock);
    const auto most = d.settings.blocks ? d.settings.blocks : ~std::uint64_t{0};
    d.changed.wait(lock, [&] { return context->running < most || context->dead != CUDA_SUCCESS; });
    taken_ = context->running < most ? std::min(wanted, most - context->running) : 0;
    context->running += taken_;
    of_this_thread = this;
  }
  ~Resident() {
    of_this_thread = nullptr;
    keep(0);
  }
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  std::uint64_t blocks() const { return std::max<std::uint64_t>(taken_, 1); }
  /// Only so many blocks still run.
  void keep(std::uint64_t blocks) {
    const std::lock_guard lock(driver().lock);
    const auto left = std::min(taken_, blocks);
    context_->running -= taken_ - left;
    taken_ = left;
    driver().changed.notify_all();
  }

  /// Of the kernel that the thread runs.
  inline static thread_local Resident* of_this_thread = nullptr;

 private:
  const std::shared_ptr<Context> context_;
  std::uint64_t taken_ = 0;
};

void load(Call& c, Function& function) {
  if (!function.loaded) wait_for_kernels(c.context, c.lock);
  function.loaded = true;
}

// A launch with copies of its parameters, which live until the kernel has run.
class Launch {
 public:
  Launch(const Kernel& kernel, const dunnageSimLaunch& shape, void* const* params) : run_(kernel.run), shape_(shape) {
    values_.resize(kernel.sizes.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i].resize(kernel.sizes[i]);  // an allocation of its own, so that any type is aligned
      std::memcpy(values_[i].data(), params[i], kernel.sizes[i]);
      params_.push_back(values_[i].data());
    }
    shape_.params = params_.data();
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  void operator()(std::uint64_t resident) const {
    auto shape = shape_;  // the node of a graph may run in several streams at once
    shape.residentBlocks = static_cast<unsigned>(resident);
    run_(&shape);
  }

 private:
  void (*run_)(const dunnageSimLaunch*);
  std::vector<std::vector<char>> values_;
  std::vector<void*> params_;
  dunnageSimLaunch shape_;
};

void check_shape(const dunnageSimLaunch& shape, const Function& function) {
  const auto& [x, y, z] = shape.blockDim;
  const auto positive = [](const unsigned(&dimensions)[3]) {
    return std::all_of(std::begin(dimensions), std::end(dimensions), [](unsigned d) { return d > 0; });
  };
  require(positive(shape.gridDim) && positive(shape.blockDim), CUDA_ERROR_INVALID_VALUE);
  require(shape.gridDim[0] <= 2147483647u && shape.gridDim[1] <= 65535 && shape.gridDim[2] <= 65535,
          CUDA_ERROR_INVALID_VALUE);
  require(x <= 1024 && y <= 1024 && z <= 64 && x * y * z <= 1024, CUDA_ERROR_INVALID_VALUE);
  require(shape.sharedBytes <= static_cast<unsigned>(function.dynamic_shared_bytes), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

std::function<void()> work_of(Call& c, const CUDA_KERNEL_NODE_PARAMS& p) {
  const auto function = function_of(c, p.func);
  require(!p.extra, CUDA_ERROR_NOT_SUPPORTED);
  require(p.kernelParams || function->kernel.sizes.empty(), CUDA_ERROR_INVALID_VALUE);
  const dunnageSimLaunch shape{
      {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes, nullptr, 0,
      driver().settings.holds_stores};
  check_shape(shape, *function);
  load(c, *function);
  const auto launch = std::make_shared<Launch>(function->kernel, shape, p.kernelParams);
  const auto blocks = std::uint64_t{p.gridDimX} * p.gridDimY * p.gridDimZ;
  return [launch, blocks, context = c.context, time = driver().settings.kernel_time] {
    const Resident resident(context, blocks);
    if (time) std::this_thread::sleep_for(std::chrono::microseconds(time));
    (*launch)(resident.blocks());
  };
}

}  // namespace dunnage::sim

using namespace dunnage::sim;

void dunnageSimBlocksLeft(unsigned blocks) {
  if (Resident::of_this_thread) Resident::of_this_thread->keep(blocks);
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream in, void** params,
                        void** extra) {
  return call({"cuLaunchKernel", Class::launch}, [&](Call& c) {
    const auto stream = stream_of(c.context, in);
    require(stream->owner == c.context->id, CUDA_ERROR_INVALID_HANDLE);
    auto work = work_of(
        c, {handle, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, params, extra, nullptr, nullptr});
    const auto fault = stream->capture ? std::nullopt : driver().faults.due("kernel");
    put(stream, std::move(work), fault ? fault->code : CUDA_SUCCESS);
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return call({"cuFuncGetAttribute"}, [&](Call& c) {
    const auto function = function_of(c, handle);
    given(value);
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->dynamic_shared_bytes; break;
      default: require(attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE); *value = 0;
    }
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return call({"cuFuncLoad"}, [&](Call& c) { load(c, *function_of(c, handle)); });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return call({"cuFuncSetAttribute"}, [&](Call& c) {
    const auto function = function_of(c, handle);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return;  // only a hint
    require(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE);
    require(value >= 0 && value <= most_shared_bytes, CUDA_ERROR_INVALID_VALUE);
    function->dynamic_shared_bytes = value;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_size,
                                                     size_t shared_bytes) {
  return call({"cuOccupancyMaxActiveBlocksPerMultiprocessor"}, [&](Call& c) {
    function_of(c, handle);
    require(block_size > 0 && block_size <= 1024, CUDA_ERROR_INVALID_VALUE);
    const auto by_threads = 2048 / ((block_size + 31) / 32 * 32);
    const auto by_memory =
        static_cast<int>(std::min<std::size_t>(32, (std::size_t{228} << 10) / (shared_bytes + 1024)));
    *given(blocks) = std::min({by_threads, by_memory, 32});
  });
}
