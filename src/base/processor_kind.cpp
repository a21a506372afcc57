#include "base/processor_kind.hpp"

namespace dunnage::base {

ProcessorKind kind_of(const Processor& processor) {
  if (processor.vendor == "GenuineIntel") return ProcessorKind::intel;
  if (processor.vendor != "AuthenticAMD") return ProcessorKind::other;
  if (processor.family == 0x1a) return ProcessorKind::zen5;
  if (processor.family != 0x19) return ProcessorKind::other;
  // Family 19h has both designs. Zen 4 has models 10h to 1fh, 60h to 7fh and a0h to afh.
  const int row = processor.model >> 4;
  return row == 1 || row == 6 || row == 7 || row == 0xa ? ProcessorKind::zen4 : ProcessorKind::zen3;
}

ProcessorKind this_processor_kind() {
  static const auto kind = kind_of(this_processor());
  return kind;
}

}  // namespace dunnage::base
