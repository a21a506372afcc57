#include "device/gpu.hpp"

#include <limits>

#include "base/read_file.hpp"
#include "base/relax.hpp"
#include "device/kernels.hpp"
#include "device/launches.hpp"

namespace dunnage::device {
namespace {

std::mutex registry_mutex;
/// All Gpus by the ids of their contexts; no later context has the same id. Never destroyed,
/// because destructors that run at exit may still call us.
auto& registry() {
  static auto* all = new std::map<unsigned long long, std::unique_ptr<Gpu>>;
  return *all;
}

/// A stream of the greatest priority. With an equal one, our kernels would not run before the last
/// block of a large kernel of the program has begun.
CUresult create_stream(const Driver& driver, CUstream* stream) {
  constexpr int greatest = std::numeric_limits<int>::min();  // the driver takes the greatest that there is
  return driver.cuStreamCreateWithPriority ? driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, greatest)
                                           : driver.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
}

}  // namespace

Gpu& Gpu::current(const Driver& driver) {
  CUcontext context = nullptr;
  check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  return of(driver, context);
}

Gpu& Gpu::of(const Driver& driver, CUcontext context) {
  const auto id = id_of(driver, context);
  thread_local unsigned long long last_id = 0;
  thread_local Gpu* last = nullptr;
  if (last && last_id == id) return *last;
  const std::lock_guard lock(registry_mutex);
  auto& entry = registry()[id];
  if (!entry) {
    entry.reset(new Gpu(driver));
    entry->context_ = context;
  }
  last_id = id;
  return *(last = entry.get());
}

void Gpu::release_all(const Driver& driver) {
  const std::lock_guard lock(registry_mutex);
  for (auto& [id, gpu] : registry()) {
    // If a context has ended, the driver has freed everything in it.
    if (id_of(driver, gpu->context_) != id || driver.cuCtxPushCurrent(gpu->context_) != CUDA_SUCCESS) continue;
    gpu->release();
    CUcontext popped;
    driver.cuCtxPopCurrent(&popped);
  }
}

void Gpu::release() {
  pinned_.release();
  proxy_memory_.release();
  default_stream_.release();
  const std::lock_guard lock(mutex_);
  for (const auto& lane : lanes_) drop(lane);
  lanes_.clear();
  for (const auto& [id, constants] : constants_) driver_.cuMemFree(constants.address);
  constants_.clear();
  imports_.clear();
  arena_->release();
  graphs_.release();
  completion_flags_.release();
  for (auto& kernel : kernels_) kernel.store(nullptr);
  if (module_) driver_.cuModuleUnload(module_);
  module_ = nullptr;
}

void Gpu::load_module() {
  if (driver_.simulated) return check(driver_, driver_.cuModuleLoadData(&module_, "simulated"), "cuModuleLoadData");
  const auto path = kernels_file(folder());
  const auto image = base::read_file(path);
  if (image.empty())
    throw Error(CUDA_ERROR_NO_BINARY_FOR_GPU, "cannot read " + path + ", which was there when the program started");
  check(driver_, driver_.cuModuleLoadData(&module_, image.data()), ("loading " + path).c_str());
}

CUfunction Gpu::kernel(std::uint32_t code, const std::function<std::string()>& name) {
  if (auto* known = kernels_[code].load(std::memory_order_acquire)) return known;
  const std::lock_guard lock(mutex_);
  const bool first = !module_;
  if (first) load_module();
  CUfunction function = nullptr;
  const auto text = name();
  check(driver_, driver_.cuModuleGetFunction(&function, module_, text.c_str()), ("kernel " + text).c_str());
  if (first) {  // later the program may have kernels that wait for us
    graphs_.make(function);
    completion_flags_.make();
  }
  kernels_[code].store(function, std::memory_order_release);
  return function;
}

void Gpu::load(CUfunction kernel) {
  if (driver_.cuFuncLoad) check(driver_, driver_.cuFuncLoad(kernel), "cuFuncLoad");
}

void Gpu::launch(CUfunction kernel, std::uint32_t blocks, std::uint32_t threads, CUstream stream, void* parameter,
                 std::uint32_t shared) const {
  void* parameters[] = {parameter};
  check(driver_, driver_.cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, shared, stream, parameters, nullptr),
        "cuLaunchKernel");
  launches.kernel();
}

void Gpu::launch(const RecordedGraph& graph, CUstream stream) const {
  graph.launch(stream);
  launches.kernel();
}

void Gpu::launch(const KernelLaunch& what, Lane& lane) {
  if (graphs_.launch(what, lane.stream)) return launches.kernel();
  launch(what.kernel, what.blocks, what.threads, lane.stream, const_cast<void*>(what.parameter), what.shared);
}

CUdeviceptr Gpu::constants(std::uint64_t id, const std::weak_ptr<const void>& owner, std::size_t size,
                           const std::function<std::vector<char>(std::uintptr_t)>& make, Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (const auto known = constants_.find(id); known != constants_.end()) return known->second.address;
  std::erase_if(constants_, [&](const auto& entry) {
    if (!entry.second.owner.expired()) return false;
    driver_.cuMemFree(entry.second.address);
    return true;
  });
  CUdeviceptr address = 0;
  check(driver_, driver_.cuMemAlloc(&address, size), "cuMemAlloc for a datatype's tables");
  const auto bytes = make(static_cast<std::uintptr_t>(address));
  auto result = driver_.cuMemcpyAsync(address, reinterpret_cast<CUdeviceptr>(bytes.data()), bytes.size(), lane.stream);
  if (result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(lane.stream);
  if (result != CUDA_SUCCESS) {
    driver_.cuMemFree(address);
    throw Error(driver_, result, "copying a datatype's tables to the device");
  }
  constants_.emplace(id, Constants{owner, address});
  return address;
}

Lane Gpu::take(std::size_t piece, bool pinned, bool scratch) {
  Lane lane;
  {
    const std::lock_guard lock(mutex_);
    if (!lanes_.empty()) {
      // A lane that already has the wanted staging memory, or else the lane that was used last.
      auto best = lanes_.end() - 1;
      for (auto at = lanes_.begin(); at != lanes_.end(); ++at)
        if ((!pinned || at->pinned[0]) && (!scratch || at->scratch)) best = at;
      lane = *best;
      lanes_.erase(best);
    }
  }
  try {
    if (!lane.stream) {
      check(driver_, create_stream(driver_, &lane.stream), "cuStreamCreate");
      for (auto& event : lane.done)
        check(driver_, driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    }
    for (int i = 0; i < 2; ++i) {
      void* memory = nullptr;
      if (pinned && !lane.pinned[i]) {
        check(driver_, driver_.cuMemAllocHost(&memory, piece), "cuMemAllocHost for staging");
        lane.pinned[i] = static_cast<char*>(memory);
      }
    }
    if (scratch && !lane.scratch) check(driver_, driver_.cuMemAlloc(&lane.scratch, piece), "cuMemAlloc for staging");
  } catch (...) {
    drop(lane);
    throw;
  }
  return lane;
}

void Gpu::give(const Lane& lane) {
  const std::lock_guard lock(mutex_);
  lanes_.push_back(lane);
}

void Gpu::abandon(Lane& lane) {
  // If even waiting fails, the context is broken. The lane's memory is then freed with the context.
  if (driver_.cuStreamSynchronize(lane.stream) != CUDA_SUCCESS) return;
  auto& flag = lane.completion;
  if (flag) flag.launched = *flag.told;  // a launch that failed may have been counted, or not
  give(lane);
}

void Gpu::find_completion_flag(Lane& lane) {
  if (lane.completion) return;
  const std::lock_guard lock(mutex_);
  lane.completion = completion_flags_.take(lane.stream);
}

void Gpu::drop(const Lane& lane) {
  for (int i = 0; i < 2; ++i) {
    if (lane.pinned[i]) driver_.cuMemFreeHost(lane.pinned[i]);
    if (lane.done[i]) driver_.cuEventDestroy(lane.done[i]);
  }
  if (lane.scratch) driver_.cuMemFree(lane.scratch);
  if (lane.stream) driver_.cuStreamDestroy(lane.stream);
}

const CompletionFlag* Borrowed::completion_flag() {
  gpu_.find_completion_flag(lane_);
  return lane_.completion ? &lane_.completion : nullptr;
}

/// Takes about as long as to ask the driver.
bool Borrowed::told_its_end() {
  constexpr int looks = 4;
  for (int i = 0; i < looks; ++i, base::relax())
    if (lane_.completion.reached()) return true;
  return false;
}

bool Borrowed::done() {
  if (idle_) return true;
  constexpr unsigned rarely = 64;  // the driver is asked whether the kernel has failed
  if (completes_ && told_its_end()) return idle_ = true;
  if (completes_ && ++polls_ % rarely != 0) return false;
  const auto state = gpu_.driver().cuStreamQuery(lane_.stream);
  if (state == CUDA_ERROR_NOT_READY) return false;
  check(gpu_.driver(), state, "cuStreamQuery");
  return idle_ = true;
}

void Borrowed::synchronize() {
  check(gpu_.driver(), gpu_.driver().cuStreamSynchronize(lane_.stream), "cuStreamSynchronize");
  idle_ = true;
}

}  // namespace dunnage::device
