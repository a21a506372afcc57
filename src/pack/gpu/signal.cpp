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

void put(device::Gpu& gpu, CUstream stream, pack::cuda::Signal signal) {
  gpu.launch(signal_kernel(gpu), 1, pack::cuda::signal_threads, stream, &signal);
}

void put(device::Gpu& gpu, CUstream stream, pack::cuda::SmallExchange& exchange) {
  gpu.launch(exchange_kernel(gpu), 1, pack::cuda::block_threads, stream, &exchange);
}

void put(device::Gpu& gpu, CUstream stream, pack::cuda::StampedExchange exchange) {
  gpu.launch(stamped_kernel(gpu), 1, pack::cuda::block_threads, stream, &exchange);
}

}  // namespace dunnage::pack::gpu
