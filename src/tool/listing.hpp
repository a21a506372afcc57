// What `dunnage info` and `dunnage explain` say: text for people as it is found out, or one JSON
// document at the end.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace dunnage::tool {

using Json = nlohmann::ordered_json;

class Listing {
 public:
  /// `json`: print no text, but the document.
  explicit Listing(bool json) : json_(json) {}
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;
  /// Prints the document, if it is wanted. To be called when nothing can fail any more.
  void finish() const {
    if (json_) fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  }

  /// Text that is only for people.
  template <class... Args>
  void text(fmt::format_string<Args...> format, Args&&... args) const {
    if (!json_) fmt::print(format, std::forward<Args>(args)...);
  }

  /// Begins a section. The lines and remarks that follow belong to it.
  void section(std::string_view title) {
    text("{}{}{}\n", bold(), title, plain());
    section_ = title;
    document[section_] = Json::object();
  }
  void line(std::string_view name, std::string_view value) { line(name, value, value); }
  /// `value` is what the document has in place of the text.
  void line(std::string_view name, std::string_view shown, const Json& value) {
    text("  {:<22} {}\n", name, shown);
    (section_.empty() ? document : document[section_])[std::string(name)] = value;
  }
  void remark(std::string_view complaint) {
    text("  {}! {}{}\n", bold(), complaint, plain());
    document[section_]["remarks"].push_back(complaint);
  }

  Json document = Json::object();

 private:
  /// Where the output is a terminal that wants it (https://no-color.org).
  static bool is_terminal() {
    static const bool is = [] {
      const char *refused = std::getenv("NO_COLOR"), *kind = std::getenv("TERM");
      return isatty(STDOUT_FILENO) && !(refused && *refused) && kind && std::string_view(kind) != "dumb";
    }();
    return is;
  }
  static std::string_view bold() { return is_terminal() ? "\x1b[1m" : ""; }
  static std::string_view plain() { return is_terminal() ? "\x1b[0m" : ""; }

  const bool json_;
  std::string section_;
};

}  // namespace dunnage::tool
