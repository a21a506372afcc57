// Who made this processor, and which design it is.
#pragma once

#include <string>

namespace dunnage::base {

/// As the instruction cpuid tells. Family and model include their extended parts.
struct Processor {
  std::string vendor;  // for example "AuthenticAMD"
  int family = 0, model = 0;
};

/// Asks the processor. Thread-safe.
Processor this_processor();

}  // namespace dunnage::base
