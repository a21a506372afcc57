#include "base/machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/cache.hpp"
#include "base/format.hpp"
#include "base/processor.hpp"

namespace dunnage::base {

const Machine& this_machine() {
  static const Machine machine{processor_name(), static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), second_level_cache()};
  return machine;
}

std::string describe(const Machine& m) {
  return fmt::format("{}, {} cores, {} of second-level cache", m.processor, m.cores,
                     format_bytes(static_cast<std::uint64_t>(m.second_level_cache)));
}

std::string short_hash(const Machine& m) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  const auto text = fmt::format("{}\n{}\n{}", m.processor, m.cores, m.second_level_cache);
  for (const unsigned char c : text) hash = (hash ^ c) * 16777619u;
  return fmt::format("{:08x}", hash);
}

}  // namespace dunnage::base
