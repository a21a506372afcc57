#include "base/cache.hpp"

#include <unistd.h>

namespace dunnage::base {

std::int64_t second_level_cache() {
  static const std::int64_t size = [] {
    const auto told = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return told > 0 ? static_cast<std::int64_t>(told) : std::int64_t{1} << 20;
  }();
  return size;
}

}  // namespace dunnage::base
