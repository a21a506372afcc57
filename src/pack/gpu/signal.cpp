#include "pack/gpu/signal.hpp"

#include <string>

#include "pack/gpu/kernel_codes.hpp"

namespace dunnage::pack::gpu {
namespace {

CUfunction signal_kernel(device::Gpu& gpu) {
  return gpu.kernel(signal_code, [] { return std::string("signal"); });
}
CUfunction exchange_kernel(device::Gpu& gpu) {
  return gpu.kernel(exchange_code, [] { return std::string("exchange_n8"); });
}

CUfunction stamped_kernel(device::Gpu& gpu) {
  return gpu.kernel(stamped_code, [] { return std::string("stamped"); });
}

}  // namespace

void prepare_signals(device::Gpu& gpu) {
  gpu.load(stamped_kernel(gpu));
  gpu.load(signal_kernel(gpu));
  gpu.load(exchange_kernel(gpu));
}

void put(KernelChain& chain, pack::cuda::Signal signal) {
  chain.put(signal_kernel(chain.gpu), 1, pack::cuda::signal_threads, &signal);
}

void put(KernelChain& chain, pack::cuda::SmallExchange& exchange) {
  chain.put(exchange_kernel(chain.gpu), 1, pack::cuda::block_threads, &exchange);
}

void put(KernelChain& chain, pack::cuda::StampedExchange exchange) {
  chain.put(stamped_kernel(chain.gpu), 1, pack::cuda::block_threads, &exchange);
}

}  // namespace dunnage::pack::gpu
