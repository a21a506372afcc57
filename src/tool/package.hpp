// dunnage bench and dunnage tune: the Python package runs them, because they start programs under
// MPIs.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

/// Replaces this process by `python -m module ARGUMENTS`. Returns an exit status only if that
/// fails.
int run_module(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace dunnage::tool
