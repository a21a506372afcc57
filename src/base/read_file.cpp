#include "base/read_file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace dunnage::base {

std::string read_file(const std::string& path) {
  constexpr std::size_t least = 4096;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::string text;
  std::size_t length = 0;
  for (ssize_t got = 1; got != 0;) {
    if (length == text.size()) text.resize(std::max(least, 2 * length));
    got = read(file.get(), text.data() + length, text.size() - length);
    if (got > 0) length += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR) return {};
  }
  text.resize(length);
  return text;
}

}  // namespace dunnage::base
