#include "tool/package.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tool/paths.hpp"
#include "tool/process.hpp"

namespace fs = std::filesystem;

namespace dunnage::tool {

int run_module(const std::string& module, const std::vector<std::string>& arguments) {
  const Home home = find_home();
  if (!fs::exists(home.python() / "dunnage")) {
    return fail(fmt::format("{} does not exist; set DUNNAGE_HOME to the folder that has share/dunnage/python",
                            (home.python() / "dunnage").string()));
  }
  // In a build folder the package is a link into the repository. The repository's environment has
  // the packages that plots need.
  const fs::path venv = fs::canonical(home.python()).parent_path() / ".venv" / "bin" / "python";
  std::vector<std::string> command{access(venv.c_str(), X_OK) == 0 ? venv.string() : "python3", "-m", module};
  command.insert(command.end(), arguments.begin(), arguments.end());
  setenv("DUNNAGE_HOME", home.folder.c_str(), 1);
  prepend_to_variable("PYTHONPATH", home.python().string());
  return become(command);
}

}  // namespace dunnage::tool
