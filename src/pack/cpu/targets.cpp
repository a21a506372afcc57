// The part of Highway's library that Highway's headers need: which instruction sets this processor
// has. libhwy.so is not linked, because it measures the clock when it is loaded. That takes 8 ms of
// processor time in every process, within MPI_Init.
//
// The bits are those that hwy::SupportedTargets() of libhwy finds. tests/pack/targets_test.cpp
// compares them.
#include <hwy/targets.h>

#include <atomic>

namespace hwy {
namespace {

using Targets = decltype(SupportedTargets());

// Baseline features that all x86-64 processors have are not asked for.
Targets of_processor() {
  __builtin_cpu_init();
  Targets found = HWY_ENABLED_BASELINE;
  const bool ssse3 = __builtin_cpu_supports("ssse3");
  if (ssse3) found |= HWY_SSSE3;
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
  if (sse4) found |= HWY_SSE4;
  // GCC's AVX features already say that the operating system saves the registers.
  const bool avx2 = sse4 && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("f16c");
  if (avx2) found |= HWY_AVX2;
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
  if (avx3) found |= HWY_AVX3;
  const bool avx3_dl = avx3 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("vpclmulqdq") &&
                       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                       __builtin_cpu_supports("vaes") && __builtin_cpu_supports("avx512vpopcntdq") &&
                       __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni");
  if (avx3_dl) found |= HWY_AVX3_DL;
  return found;
}

constinit std::atomic<Targets> disabled{0};

}  // namespace

Targets SupportedTargets() {
  static const Targets here = of_processor();
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
