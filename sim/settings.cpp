#include "sim/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace dunnage::sim {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  const std::string_view all(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  return error == std::errc() && end == all.data() + all.size() ? value : otherwise;
}

}  // namespace

Settings Settings::from_environment() {
  constexpr std::uint64_t page = 4096;
  Settings s;
  s.devices = static_cast<int>(std::min<std::uint64_t>(number("DUNNAGE_SIM_DEVICES", 2), 64));
  s.memory = std::clamp(number("DUNNAGE_SIM_MEMORY", s.memory), page, std::uint64_t{1} << 40) / page * page;
  s.delay = number("DUNNAGE_SIM_DELAY", s.delay);
  s.seed = number("DUNNAGE_SIM_SEED", s.seed);
  s.kernel_time = number("DUNNAGE_SIM_KERNEL_TIME", 0);
  s.blocks = number("DUNNAGE_SIM_BLOCKS", 0);
  s.blocking = number("DUNNAGE_SIM_BLOCKING", 0) != 0;
  s.holds_stores = number("DUNNAGE_SIM_HOLD_STORES", 0) != 0;
  s.connections = number("CUDA_DEVICE_MAX_CONNECTIONS", 0);
  s.mps = number("DUNNAGE_SIM_MPS", 0) != 0;
  s.reachable = number("DUNNAGE_SIM_REACHABLE", 0) != 0;
  return s;
}

}  // namespace dunnage::sim
