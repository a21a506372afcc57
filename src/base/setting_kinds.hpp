// The kinds of settings. Each kind has one function that reads a value from text and one that
// writes a value as text. The generated table of settings calls these functions by name. To add a
// kind, add two functions here and one line in generate/settings.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dunnage::base {

// Where output goes that is off by default.
struct Output {
  enum Kind { off, text, file } kind = off;
  std::string path;  // only for `file`

  bool operator==(const Output&) const = default;
};

// A parse function returns false and leaves `to` unchanged if the text is not a value of its kind.
bool parse_flag(std::string_view text, bool& to);
bool parse_count(std::string_view text, int& to);
bool parse_size(std::string_view text, std::uint64_t& to);
bool parse_path(std::string_view text, std::string& to);
bool parse_string(std::string_view text, std::string& to);
bool parse_output(std::string_view text, Output& to);

std::string show_flag(bool value);
std::string show_count(int value);
std::string show_size(std::uint64_t value);
std::string show_path(const std::string& value);
std::string show_string(const std::string& value);
std::string show_output(const Output& value);

template <class Enum>
bool parse_enum(std::string_view text, Enum& to, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != text) continue;
    to = static_cast<Enum>(i);
    return true;
  }
  return false;
}

template <class Enum>
std::string show_enum(Enum value, std::span<const std::string_view> names) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

}  // namespace dunnage::base
