// Tells the simulated device what our kernels do. device/driver.cpp loads this library when it
// finds the simulated driver.
#include <array>
#include <utility>

#include "pack/cuda/emulated.hpp"
#include "sim/device_code.hpp"

#include "pack/cuda/partition.hpp"

namespace {

using Run = void (*)(const dunnageSimLaunch*);

template <std::size_t I>
void run(const dunnageSimLaunch* launch) {
  dunnage::pack::cuda::holds_stores = launch->holdsStores != 0;
  dunnage::pack::cuda::emulated_kernels()[I].run(launch->params[0], launch->gridDim[0], launch->sharedBytes,
                                                 dunnageSimTranslate);
}

template <std::size_t... I>
constexpr std::array<Run, sizeof...(I)> all(std::index_sequence<I...>) {
  return {run<I>...};
}
constexpr auto runs = all(std::make_index_sequence<320>());  // more than there are kernels

// One thread does what all threads of the grid do.
void pready(const dunnageSimLaunch* launch) {
  dunnage::pack::cuda::holds_stores = launch->holdsStores != 0;
  const dunnage::pack::cuda::Holding holding;
  const auto& call = *static_cast<const dunnage::pack::cuda::PartitionCall*>(launch->params[0]);
  dng_pready(call.exchange, static_cast<int>(call.request), static_cast<int>(call.partition));
}
void wait_exchange(const dunnageSimLaunch* launch) {
  dunnage::pack::cuda::holds_stores = launch->holdsStores != 0;
  const dunnage::pack::cuda::Holding holding;
  dng_wait(static_cast<const dunnage::pack::cuda::PartitionCall*>(launch->params[0])->exchange);
}
void partition(const dunnageSimLaunch* launch) {
  const auto& call = *static_cast<const dunnage::pack::cuda::PartitionCall*>(launch->params[0]);
  const auto& request = dng::at(dng::at(call.exchange)->request)[call.request];
  dng::move_partition(dng::move_of(request, call.partition), 0, 1);
}

[[gnu::constructor]] void teach() {
  dng_host::translate = dunnageSimTranslate;
  dunnage::pack::cuda::blocks_left = dunnageSimBlocksLeft;
  constexpr std::size_t size = sizeof(dunnage::pack::cuda::PartitionCall);
  dunnageSimRegisterKernel("pready", pready, &size, 1);
  dunnageSimRegisterKernel("wait_exchange", wait_exchange, &size, 1);
  dunnageSimRegisterKernel("partition", partition, &size, 1);
  const auto kernels = dunnage::pack::cuda::emulated_kernels();
  for (std::size_t i = 0; i < kernels.size() && i < runs.size(); ++i)
    dunnageSimRegisterKernel(kernels[i].name, runs[i], &kernels[i].parameter_size, 1);
}

}  // namespace
