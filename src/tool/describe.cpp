#include "tool/describe.hpp"

#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

namespace dunnage::tool {
namespace {

using Json = nlohmann::ordered_json;

Json options_of(const CLI::App& app) {
  Json options = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // CLI11 hides options without a group
    Json names = Json::array();
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    options.push_back({{"names", names},
                       {"positional", option->get_positional() ? option->get_name(true) : ""},
                       {"takes_value", option->get_items_expected_max() > 0},
                       {"type", option->get_type_name()},
                       {"help", option->get_description()}});
  }
  return options;
}

Json json_of(const CLI::App& app) {
  Json commands = Json::array();
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(json_of(*command));
  return {{"name", app.get_name()},
          {"help", app.get_description()},
          {"footer", app.get_footer()},
          {"options", options_of(app)},
          {"commands", commands}};
}

}  // namespace

std::string describe(const CLI::App& app) { return json_of(app).dump(1); }

}  // namespace dunnage::tool
