#include "transport/gpu/reduction.hpp"

#include "device/launches.hpp"

namespace dunnage::transport::gpu {

std::uintptr_t GpuReduction::map(const device::Exported& allocation, std::int64_t at) {
  kept_.push_back(gpu_.imports().open(driver_, allocation));
  return kept_.back()->begin() + static_cast<std::uintptr_t>(at);
}

void GpuReduction::reduce(Element element, Operation operation, std::span<const std::uintptr_t> sources,
                          std::uintptr_t to, std::int64_t count, const Handshake& handshake) {
  pack::gpu::launch_reduction(gpu_, lane_, element, operation, sources, to, count, handshake);
}

void GpuReduction::copy(Element element, Operation operation, std::uintptr_t from, std::uintptr_t to,
                        std::int64_t count) {
  const auto& facts = pack::cuda::facts_of(element);
  if (facts.gaps()) return reduce(element, operation, {&from, 1}, to, count);
  if (count == 0) return;
  lane_.busy();
  device::check(driver_,
                driver_.cuMemcpyAsync(static_cast<CUdeviceptr>(to), static_cast<CUdeviceptr>(from),
                                      static_cast<std::size_t>(count * facts.extent), lane_->stream),
                "cuMemcpyAsync");
  device::launches.copy();
}

}  // namespace dunnage::transport::gpu
