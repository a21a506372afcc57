#include "base/setting_kinds.hpp"

#include <cctype>
#include <charconv>
#include <limits>

#include "base/format.hpp"

namespace dunnage::base {

bool parse_flag(std::string_view text, bool& to) {
  for (std::string_view word : {"on", "1", "true", "yes"}) {
    if (text == word) return to = true, true;
  }
  for (std::string_view word : {"off", "0", "false", "no"}) {
    if (text == word) return to = false, true;
  }
  return false;
}

bool parse_count(std::string_view text, int& to) {
  constexpr int most = 1024;
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || number < 1 || number > most) return false;
  to = number;
  return true;
}

bool parse_size(std::string_view text, std::uint64_t& to) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return false;
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  constexpr std::string_view units = "KMGT";
  int shift = 0;
  if (!suffix.empty()) {  // 64K, 64k and 64KiB are one size; 64KB could mean two
    const std::size_t unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0]))));
    if (unit == units.npos || (suffix.size() > 1 && suffix.substr(1) != "iB")) return false;
    shift = 10 * (static_cast<int>(unit) + 1);
  }
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return false;
  to = number << shift;
  return true;
}

bool parse_path(std::string_view text, std::string& to) {
  to = text;
  return true;
}

bool parse_string(std::string_view text, std::string& to) {
  to = text;
  return true;
}

bool parse_output(std::string_view text, Output& to) {
  bool on = false;
  if (parse_flag(text, on)) {
    to = {on ? Output::text : Output::off, {}};
    return true;
  }
  // Any text could be a path. A path must look like one, so that a misspelt `1` is an error and
  // not a file.
  if (!text.ends_with(".json") && text.find('/') == text.npos) return false;
  to = {Output::file, std::string(text)};
  return true;
}

std::string show_flag(bool value) { return value ? "on" : "off"; }
std::string show_count(int value) { return std::to_string(value); }

std::string show_size(std::uint64_t value) { return format_size_setting(value); }
std::string show_path(const std::string& value) { return value; }
std::string show_string(const std::string& value) { return value; }

std::string show_output(const Output& value) {
  switch (value.kind) {
    case Output::off: return "0";
    case Output::text: return "1";
    case Output::file: break;
  }
  return value.path;
}

}  // namespace dunnage::base
