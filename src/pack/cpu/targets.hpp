// Which instruction sets a processor has, as Highway names them.
#pragma once

#include <hwy/targets.h>

namespace dunnage::pack {

using Targets = decltype(hwy::SupportedTargets());

/// Returns the bits that hwy::SupportedTargets() of libhwy finds. tests/pack/targets_test.cpp
/// compares them. Thread-safe.
Targets targets_of_processor();

}  // namespace dunnage::pack
