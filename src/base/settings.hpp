// The settings, read once from the environment into typed fields. Nothing here prints. The caller
// decides whether and where complaints are shown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings_table.hpp"  // generated from api/settings.toml

namespace dunnage::base {

struct Settings : SettingsFields {
  // Reads every DUNNAGE* variable of `env` (as in environ(7)). For each name or value that is not
  // allowed, one line is added to `complaints` and the setting keeps its default. An empty value
  // counts as unset.
  static Settings from_environment(const char* const* env, std::vector<std::string>& complaints) noexcept;
};

// One row of the table of settings, for code that lists them.
struct Setting {
  std::string_view name, allowed, fallback;
  // The value of the tool's option if none is given; "" if the option needs one
  std::string_view bare;
  std::string_view doc;
  bool (*parse)(SettingsFields& to, std::string_view text);
  std::string (*show)(const SettingsFields& from);
};

std::span<const Setting> setting_table();

}  // namespace dunnage::base
