#include "base/processor.hpp"

#include <cstdint>

#include <asm/hwcap.h>
#include <fmt/format.h>
#include <sys/auxv.h>

namespace dunnage::base {

Processor this_processor() {
  Processor processor;
  // With this bit the kernel lets programs read the register (Linux, arm64/cpu-feature-registers).
  if (!(getauxval(AT_HWCAP) & HWCAP_CPUID)) return processor;
  std::uint64_t midr = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(midr));
  const auto bits = [midr](int from, int count) { return static_cast<int>((midr >> from) & ((1u << count) - 1)); };
  processor.vendor = fmt::format("implementer {:#04x}", bits(24, 8));
  processor.family = bits(20, 4);
  processor.model = bits(4, 12);
  return processor;
}

/// These processors have no names. The numbers tell them apart as well.
std::string processor_name() {
  const auto processor = this_processor();
  if (processor.vendor.empty()) return "unknown";
  return fmt::format("aarch64 {}, part {:#05x}, variant {}", processor.vendor, processor.model, processor.family);
}

}  // namespace dunnage::base
