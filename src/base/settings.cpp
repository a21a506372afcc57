#include "base/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "base/format.hpp"

namespace dunnage::base {
namespace {

// The Levenshtein distance: the number of single-letter edits from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string unknown(std::string_view name) {
  const Setting* nearest = nullptr;
  std::size_t least = 4;  // four letters or more are no typing error
  std::string known;
  for (const Setting& setting : setting_table()) {
    const std::size_t d = distance(name, setting.name);
    if (d < least) least = d, nearest = &setting;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", setting.name);
  }
  const std::string hint =
      nearest ? fmt::format("did you mean {}?", nearest->name) : fmt::format("the settings are {}", known);
  return fmt::format("{}: there is no such setting, it is ignored ({})", one_line(name), hint);
}

std::string not_allowed(const Setting& setting, std::string_view value) {
  return fmt::format("{}={}: not an allowed value; allowed: {}; using the default, {}", setting.name, one_line(value),
                     setting.allowed, setting.fallback.empty() ? "unset" : setting.fallback);
}

void take(std::string_view name, std::string_view value, Settings& settings, std::vector<std::string>& complaints) {
  for (const Setting& setting : setting_table()) {
    if (setting.name != name) continue;
    if (!value.empty() && !setting.parse(settings, value)) complaints.push_back(not_allowed(setting, value));
    return;
  }
  complaints.push_back(unknown(name));
}

}  // namespace

Settings Settings::from_environment(const char* const* env, std::vector<std::string>& complaints) noexcept {
  Settings settings;
  try {
    for (; env && *env; ++env) {
      const std::string_view entry(*env);
      const std::size_t equals = entry.find('=');
      const std::string_view name = entry.substr(0, equals);
      if (equals == entry.npos || (name != "DUNNAGE" && !name.starts_with("DUNNAGE_"))) continue;
      if (name.starts_with("DUNNAGE_SIM_")) continue;  // read by the simulated device
      take(name, entry.substr(equals + 1), settings, complaints);
    }
  } catch (const std::exception&) {
    // No memory for a complaint: the program matters more than the complaint.
  }
  return settings;
}

}  // namespace dunnage::base
