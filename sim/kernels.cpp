// Tells the simulated device what our kernels do. device/driver.cpp loads this library when it
// finds the simulated driver.
#include <array>
#include <utility>

#include "pack/cuda/emulated.hpp"
#include "sim/sim.h"

namespace {

using Run = void (*)(const dunnageSimLaunch*);

template <std::size_t I>
void run(const dunnageSimLaunch* launch) {
  dunnage::pack::cuda::emulated_kernels()[I].run(launch->params[0], launch->gridDim[0], launch->sharedBytes,
                                                 dunnageSimTranslate);
}

template <std::size_t... I>
constexpr std::array<Run, sizeof...(I)> all(std::index_sequence<I...>) {
  return {run<I>...};
}
constexpr auto runs = all(std::make_index_sequence<320>());  // more than there are kernels

[[gnu::constructor]] void teach() {
  const auto kernels = dunnage::pack::cuda::emulated_kernels();
  for (std::size_t i = 0; i < kernels.size() && i < runs.size(); ++i)
    dunnageSimRegisterKernel(kernels[i].name, runs[i], &kernels[i].parameter_size, 1);
}

}  // namespace
