// Who made this processor, and which design it is.
#pragma once

#include <string>

namespace dunnage::base {

/// On x86-64 as the instruction cpuid tells; family and model include their extended parts. On
/// aarch64 as the register MIDR_EL1 tells: the vendor is "implementer 0x41" for Arm, the family is
/// the variant, and the model is the part number.
struct Processor {
  std::string vendor;  // for example "AuthenticAMD"
  int family = 0, model = 0;
};

/// Asks the processor. Thread-safe.
Processor this_processor();

/// The processor's own name in one line, or "unknown". Thread-safe.
std::string processor_name();

}  // namespace dunnage::base
