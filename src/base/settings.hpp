// The settings, read once from the environment into typed fields. Nothing here prints: who reads the
// settings decides whether and where the complaints are shown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings_table.hpp"  // generated from api/settings.toml

namespace dunnage::base {

struct Settings : SettingsFields {
    // Takes every DUNNAGE* variable of `env` (as in environ(7)). What is not allowed is one line in
    // `complaints`, and its default stays. An empty value counts as unset.
    static Settings from_environment(const char* const* env, std::vector<std::string>& complaints) noexcept;
};

// A line of the table, for those who list the settings.
struct Setting {
    std::string_view name, allowed, fallback;
    std::string_view bare;  // what the tool's option means without a value, "" where it must have one
    std::string_view doc;
    bool (*parse)(SettingsFields& to, std::string_view text);
    std::string (*show)(const SettingsFields& from);
};

std::span<const Setting> setting_table();

}  // namespace dunnage::base
