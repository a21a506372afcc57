// dunnage run: a command with Dunnage preloaded.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dunnage::tool {

struct RunOptions {
  // DUNNAGE_* variables as options give them; "" if an option is not given.
  std::map<std::string, std::string> settings;
  std::vector<std::string> command;
};

/// Replaces this process by the command. Returns an exit status only if that fails.
int run(const RunOptions& options);

}  // namespace dunnage::tool
