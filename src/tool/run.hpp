// dunnage run: a command with Dunnage preloaded.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dunnage::tool {

struct RunOptions {
    std::map<std::string, std::string> settings;  // DUNNAGE_* as given by options, "" where not given
    std::vector<std::string> command;
};

int run(const RunOptions& options);

}  // namespace dunnage::tool
