// dunnage --commands: the command line as JSON, for the generators of manual pages and completion.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace dunnage::tool {

/// Returns JSON with the description, the options, the footer and the sub-commands of `app`. The
/// options that CLI11 itself adds are among them, and hidden options are not.
std::string describe(const CLI::App& app);

}  // namespace dunnage::tool
