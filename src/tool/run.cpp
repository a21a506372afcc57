#include "tool/run.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/settings.hpp"
#include "plan/machine_model.hpp"
#include "tool/paths.hpp"
#include "tool/process.hpp"
#include "tool/roster.hpp"

namespace fs = std::filesystem;

namespace dunnage::tool {
namespace {

// Returns what is wrong with the options, or "" if nothing is.
std::string complaint_about(const std::map<std::string, std::string>& settings) {
  for (const base::Setting& setting : base::setting_table()) {
    const auto given = settings.find(std::string(setting.name));
    base::Settings scratch;
    if (given == settings.end() || given->second.empty() || setting.parse(scratch, given->second)) continue;
    return fmt::format("run: {} cannot be {}; allowed: {}", given->first, given->second, setting.allowed);
  }
  return "";
}

// A relative path of a report or a model is relative to this folder, wherever the ranks are
// started.
std::string from_here(const std::string& name, const std::string& value) {
  if (name == "DUNNAGE_MODEL") return value == plan::no_file ? value : fs::absolute(value).string();
  base::Output output;
  const bool is_file = base::parse_output(value, output) && output.kind == base::Output::file;
  return is_file ? fs::absolute(output.path).string() : value;
}

// Returns whether a launcher has started this process. If so, this process is one rank, and a
// roster would wait for the other ranks in vain.
bool launched() {
  for (const char* name : {"PMIX_NAMESPACE", "PMI_FD", "PMI_RANK"}) {
    if (std::getenv(name)) return true;
  }
  return false;
}

}  // namespace

int run(const RunOptions& options) {
  if (options.command.empty()) return fail("run: there is no command; usage: dunnage run [OPTIONS] [--] COMMAND...");
  if (const std::string complaint = complaint_about(options.settings); !complaint.empty()) return fail(complaint);

  const fs::path library = find_home().library();
  if (!fs::exists(library)) {
    return fail(
        fmt::format("{} does not exist; build or install Dunnage, or set DUNNAGE_HOME to the folder that "
                    "has lib/libdunnage.so",
                    library.string()));
  }
  if (library.string().find_first_of(" :") != std::string::npos) {
    return fail(
        fmt::format("{} cannot be preloaded: LD_PRELOAD takes no path with a space or a colon", library.string()));
  }
  for (const auto& [name, value] : options.settings) {
    if (!value.empty()) setenv(name.c_str(), from_here(name, value).c_str(), 1);
  }
  if (!launched()) start_roster();
  prepend_to_variable("LD_PRELOAD", library.string());
  return become(options.command);
}

}  // namespace dunnage::tool
