#include "tool/package.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tool/paths.hpp"
#include "tool/process.hpp"

namespace fs = std::filesystem;

namespace dunnage::tool {
namespace {

/// Returns the Python that runs the package. In a build folder the package is a link into the
/// repository, whose environment has the packages that plots need. A wheel is installed into an
/// environment, which need not be on PATH.
std::string python_for(const Home& home) {
  const fs::path repository = fs::canonical(home.python()).parent_path() / ".venv";
  for (const fs::path& environment : {repository, home.folder}) {
    const fs::path python = environment / "bin" / "python";
    if (fs::exists(environment / "pyvenv.cfg") && access(python.c_str(), X_OK) == 0) return python.string();
  }
  return "python3";
}

}  // namespace

int run_module(const std::string& module, const std::vector<std::string>& arguments) {
  const Home home = find_home();
  if (!fs::exists(home.python() / "dunnage")) {
    return fail(fmt::format("{} does not exist; set DUNNAGE_HOME to the folder that has share/dunnage/python",
                            (home.python() / "dunnage").string()));
  }
  std::vector<std::string> command{python_for(home), "-m", module};
  command.insert(command.end(), arguments.begin(), arguments.end());
  setenv("DUNNAGE_HOME", home.folder.c_str(), 1);
  prepend_to_variable("PYTHONPATH", home.python().string());
  return become(command);
}

}  // namespace dunnage::tool
