// dunnage run: a command with Dunnage preloaded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dunnage::tool {

struct RunOptions {
  // DUNNAGE_* variables as options give them; "" if an option is not given.
  std::map<std::string, std::string> settings;
  std::vector<std::string> command;
};

/// Returns the option for a setting: DUNNAGE_STAGING_LIMIT becomes --staging-limit.
std::string option_name(std::string_view setting);

/// Replaces this process by the command. Returns an exit status only if that fails.
int run(const RunOptions& options);

}  // namespace dunnage::tool
