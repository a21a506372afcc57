// Where the parts of this installation are. The build folder has the same layout.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dunnage::tool {

struct Home {
  std::filesystem::path folder;

  /// Returns the file to preload, which may not exist.
  std::filesystem::path library() const;
  std::filesystem::path backends() const { return library().parent_path() / "dunnage"; }
  std::filesystem::path python() const { return folder / "share" / "dunnage" / "python"; }
};

/// Returns DUNNAGE_HOME if it is set, else the folder above the one that this program is in.
Home find_home();

// Returns every executable of these names on PATH: name by name, in the order of PATH. A file with
// several links is listed once.
std::vector<std::filesystem::path> on_path(const std::vector<std::string>& names);

}  // namespace dunnage::tool
