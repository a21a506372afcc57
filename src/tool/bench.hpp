// dunnage bench: hands over to the Python package, which runs the benchmark programs.
#pragma once

#include <string>
#include <vector>

namespace dunnage::tool {

int bench(const std::vector<std::string>& arguments);

}  // namespace dunnage::tool
