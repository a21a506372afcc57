// The part of Highway's library that Highway's headers need. libhwy.so is not linked, because it
// measures the clock when it is loaded. That takes 8 ms of processor time in every process, within
// MPI_Init.
#include "pack/cpu/targets.hpp"

#include <atomic>

namespace hwy {
namespace {

using dunnage::pack::Targets;

constinit std::atomic<Targets> disabled{0};

}  // namespace

Targets SupportedTargets() {
  static const Targets here = dunnage::pack::targets_of_processor();
  const Targets left = here & ~disabled.load(std::memory_order_relaxed);
  return left ? left : HWY_ENABLED_BASELINE;
}

/// As in libhwy, targets that the compiler may always use cannot be disabled.
void DisableTargets(Targets unwanted) {
  disabled.store(unwanted & ~Targets{HWY_ENABLED_BASELINE}, std::memory_order_relaxed);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
