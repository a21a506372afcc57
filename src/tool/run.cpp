#include "tool/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
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
    return fmt::format("run: {} cannot be {}; allowed: {}", option_name(setting.name), given->second, setting.allowed);
  }
  return "";
}

// Returns why the file of an output, as a report, cannot be written here, or "" if it can be. A job
// that has run for hours must not lose its report.
std::string complaint_about_output(const std::string& name, const std::string& value) {
  base::Output output;
  if (!base::parse_output(value, output) || output.kind != base::Output::file) return "";
  const fs::path file = fs::absolute(output.path), folder = file.parent_path();
  std::error_code none;
  std::string why;
  if (!fs::is_directory(folder, none))
    why = fmt::format("the folder {} does not exist", folder.string());
  else if (fs::is_directory(file, none))
    why = "it is a folder";
  else if (access(fs::exists(file, none) ? file.c_str() : folder.c_str(), W_OK) != 0)
    why = fmt::format("it cannot be written: {}", std::strerror(errno));
  if (why.empty()) return "";
  const auto option = option_name(name);
  return fmt::format(
      "run: {0}={1}: {2}; name a file in a folder that you may write, for example {0}={3}.json. If only the hosts of "
      "the ranks have the folder, set {4} in place of the option",
      option, value, why, option.substr(2), name);
}

// Returns why the command cannot be meant, or "" if it can be.
std::string complaint_about_command(const std::vector<std::string>& command) {
  if (command.empty()) return "run: there is no command; usage: dunnage run [OPTIONS] [--] COMMAND...";
  if (command[0].ends_with(".json"))
    return fmt::format("run: {0} is no command; to write a report, write --report={0}", command[0]);
  return "";
}

// A relative path of an output or a model is relative to this folder, wherever the ranks are
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

std::string option_name(std::string_view setting) {
  std::string name = "--" + std::string(setting.substr(std::string_view("DUNNAGE_").size()));
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

int run(const RunOptions& options) {
  for (const std::string& complaint : {complaint_about_command(options.command), complaint_about(options.settings)})
    if (!complaint.empty()) return fail(complaint);
  for (const std::string name : {"DUNNAGE_REPORT", "DUNNAGE_EXPLAIN"})
    if (const auto given = options.settings.find(name); given != options.settings.end())
      if (const auto complaint = complaint_about_output(name, given->second); !complaint.empty())
        return fail(complaint);

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
