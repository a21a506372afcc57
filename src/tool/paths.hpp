// Where the parts of this installation are. The build folder is laid out in the same way.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dunnage::tool {

struct Home {
    std::filesystem::path folder;

    std::filesystem::path library() const { return folder / "lib" / "libdunnage.so"; }
    std::filesystem::path backends() const { return folder / "lib" / "dunnage"; }
    std::filesystem::path python() const { return folder / "share" / "dunnage" / "python"; }
};

Home find_home();  // DUNNAGE_HOME, else the folder above the one this program is in

// Every executable of these names on PATH, name by name in the order of PATH, each file once.
std::vector<std::filesystem::path> on_path(const std::vector<std::string>& names);

}  // namespace dunnage::tool
