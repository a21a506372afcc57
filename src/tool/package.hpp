// dunnage bench, report and tune: the Python package runs them.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

/// Replaces this process by `python -m module ARGUMENTS`. Returns an exit status only if that
/// fails.
int run_module(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace dunnage::tool
