// Which instruction sets this processor has.
//
// The C library has asked the processor already. GCC's __builtin_cpu_supports() asks again in every
// process, when the library is loaded: in a virtual machine that takes 70 us.
#include "pack/cpu/targets.hpp"

#include <sys/platform/x86.h>

namespace dunnage::pack {

// Baseline features that all x86-64 processors have are not asked for.
Targets targets_of_processor() {
  Targets found = HWY_ENABLED_BASELINE;
  const bool ssse3 = CPU_FEATURE_ACTIVE(SSSE3);
  if (ssse3) found |= HWY_SSSE3;
  const bool sse4 = ssse3 && CPU_FEATURE_ACTIVE(SSE4_1) && CPU_FEATURE_ACTIVE(SSE4_2) && CPU_FEATURE_ACTIVE(AES) &&
                    CPU_FEATURE_ACTIVE(PCLMULQDQ);
  if (sse4) found |= HWY_SSE4;
  // Active AVX features already say that the operating system saves the registers.
  const bool avx2 = sse4 && CPU_FEATURE_ACTIVE(AVX) && CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI1) &&
                    CPU_FEATURE_ACTIVE(BMI2) && CPU_FEATURE_ACTIVE(FMA) && CPU_FEATURE_ACTIVE(LZCNT) &&
                    CPU_FEATURE_ACTIVE(F16C);
  if (avx2) found |= HWY_AVX2;
  const bool avx3 = avx2 && CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512VL) &&
                    CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512BW) && CPU_FEATURE_ACTIVE(AVX512CD);
  if (avx3) found |= HWY_AVX3;
  const bool avx3_dl = avx3 && CPU_FEATURE_ACTIVE(AVX512_VNNI) && CPU_FEATURE_ACTIVE(VPCLMULQDQ) &&
                       CPU_FEATURE_ACTIVE(AVX512_VBMI) && CPU_FEATURE_ACTIVE(AVX512_VBMI2) &&
                       CPU_FEATURE_ACTIVE(VAES) && CPU_FEATURE_ACTIVE(AVX512_VPOPCNTDQ) &&
                       CPU_FEATURE_ACTIVE(AVX512_BITALG) && CPU_FEATURE_ACTIVE(GFNI);
  if (avx3_dl) found |= HWY_AVX3_DL;
  return found;
}

}  // namespace dunnage::pack
