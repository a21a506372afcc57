// dunnage bench, dunnage tune: hand over to the Python package, which runs programs under MPIs.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

/// Becomes `python -m module ARGUMENTS`.
int run_module(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace dunnage::tool
