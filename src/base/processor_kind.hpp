// Which processors have built-in figures, and a choice of their own how memory is prefetched.
#pragma once

#include "base/processor.hpp"

namespace dunnage::base {

enum class ProcessorKind { intel, zen3, zen4, zen5, other };

/// Returns the kind of a processor. Pure.
ProcessorKind kind_of(const Processor& processor);

/// Returns the kind of this processor, which is found out once. Thread-safe.
ProcessorKind this_processor_kind();

}  // namespace dunnage::base
