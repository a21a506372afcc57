// dunnage explain --types: the datatypes that a program has committed (DUNNAGE_EXPLAIN).
#pragma once

#include <string>

#include "tool/explain.hpp"

namespace dunnage::tool {

/// Explains each type of a file that a program has written. The type of `options` does not count.
/// Returns the exit status: 2 if the file cannot be used.
int explain_types(const std::string& path, const ExplainOptions& options);

}  // namespace dunnage::tool
