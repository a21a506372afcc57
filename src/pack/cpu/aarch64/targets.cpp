// Which instruction sets this processor has.
#include "pack/cpu/targets.hpp"

#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

namespace dunnage::pack {

Targets targets_of_processor() {
  Targets found = HWY_ENABLED_BASELINE;
  const auto first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  if (!(first & HWCAP_AES)) return found;  // Highway's NEON wants it, too
  found |= HWY_NEON;
  if (!(first & HWCAP_SVE)) return found;
  // Vectors of 16 and of 32 bytes have code of their own.
  const int bytes = prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK;
  found |= HWY_SVE;
  if (bytes == 32) found |= HWY_SVE_256;
  if (!(second & HWCAP2_SVE2) || !(second & HWCAP2_SVEAES)) return found;
  found |= HWY_SVE2;
  if (bytes == 16) found |= HWY_SVE2_128;
  return found;
}

}  // namespace dunnage::pack
