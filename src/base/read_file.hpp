// Reads a file without the streams of the C++ library, which make their locales first.
#pragma once

#include <string>

namespace dunnage::base {

/// What stands in a file, which may be one of /proc: those do not say how long they are. Returns ""
/// if the file cannot be read.
std::string read_file(const std::string& path);

}  // namespace dunnage::base
