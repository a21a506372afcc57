#include "footprint.hpp"

#include <algorithm>
#include <cstring>

namespace bench {

Footprint footprint(const Layout& layout, Buffer& user, std::size_t payload) {
  std::memset(user.data(), 0, user.size());
  {
    std::vector<std::byte> ones(payload, std::byte{1});
    layout.unpack(user.data() + layout.origin, ones.data());
  }
  Footprint result;
  for (std::size_t start = 0; start < user.size(); start += cache_line) {
    const std::size_t end = std::min(start + cache_line, user.size());
    const auto written = static_cast<std::size_t>(std::count(user.data() + start, user.data() + end, std::byte{1}));
    if (written == 0) continue;
    const std::size_t line = start / cache_line;
    ++result.touched;
    if (written == cache_line) ++result.complete;
    if (!result.runs.empty() && result.runs.back().first + result.runs.back().count == line)
      ++result.runs.back().count;
    else
      result.runs.push_back({line, 1});
  }
  return result;
}

}  // namespace bench
