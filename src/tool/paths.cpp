#include "tool/paths.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

namespace fs = std::filesystem;

namespace dunnage::tool {

fs::path Home::library() const {
  // A distribution has another folder for libraries, and libdunnage.so in a package for developers,
  // which some hosts of a job may lack.
  if (const fs::path packaged = folder / DUNNAGE_LIBDIR / "libdunnage.so.0";
      DUNNAGE_LIBDIR != std::string_view("lib") && fs::exists(packaged)) {
    return packaged;
  }
  return folder / "lib" / "libdunnage.so";
}

Home find_home() {
  if (const char* home = std::getenv("DUNNAGE_HOME"); home && *home) return {fs::absolute(home)};
  return {fs::read_symlink("/proc/self/exe").parent_path().parent_path()};
}

std::vector<fs::path> on_path(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  std::vector<fs::path> found, real;
  for (const std::string& name : names) {
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path candidate = fs::path(folder) / name;
      std::error_code error;
      const fs::path file = fs::canonical(candidate, error);
      if (error || access(candidate.c_str(), X_OK) != 0 || std::ranges::count(real, file)) continue;
      found.push_back(candidate);
      real.push_back(file);
    }
  }
  return found;
}

}  // namespace dunnage::tool
