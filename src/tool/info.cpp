#include "tool/info.hpp"

#include <fmt/format.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/machine.hpp"
#include "base/settings.hpp"
#include "plan/machine_model.hpp"
#include "tool/info_devices.hpp"
#include "tool/listing.hpp"
#include "tool/paths.hpp"
#include "tool/process.hpp"

namespace fs = std::filesystem;

namespace dunnage::tool {
namespace {

std::string presence(const fs::path& path) {
  return fs::exists(path) ? path.string() : fmt::format("{} is missing", path.string());
}

// The backends: each is for an ABI family, and serves these MPIs.
constexpr std::pair<std::string_view, std::string_view> families[] = {
    {"abi", "the standard's: libmpi_abi.so of any MPI"},
    {"mpich", "MPICH, Intel MPI and others of its ABI"},
    {"openmpi", "Open MPI 4, 5"},
};

void print_parts(Listing& list) {
  const Home home = find_home();
  list.text("dunnage {}\n", DUNNAGE_VERSION);
  list.document["dunnage"] = DUNNAGE_VERSION;
  list.line("home", home.folder.string());
  list.line("library", presence(home.library()));
  std::vector<std::string> backends;
  std::error_code none;
  for (const auto& [family, mpis] : families)
    if (fs::exists(home.backends() / fmt::format("libdunnage-{}.so", family), none))
      backends.push_back(fmt::format("{} ({})", family, mpis));
  list.line("backends",
            backends.empty() ? fmt::format("none in {}", home.backends().string())
                             : fmt::format("{}", fmt::join(backends, ", ")),
            backends);
  list.line("python package", presence(home.python()));
}

// Returns the line of `mpirun --version` that has the version: the first line, or MPICH's "Version:
// ...".
std::string launcher_version(const fs::path& launcher) {
  const std::string text = output_of({launcher.string(), "--version"});
  std::istringstream lines(text);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    const std::size_t at = line.find("Version:");
    if (at == line.npos) continue;
    const std::size_t start = line.find_first_not_of(' ', at + 8);
    if (start != line.npos) return (first.starts_with("HYDRA") ? "MPICH (Hydra) " : "") + line.substr(start);
  }
  return first.empty() ? "reports no version" : first;
}

void print_mpis(Listing& list) {
  list.section("MPI on PATH");
  const auto launchers = on_path({"mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec", "mpiexec.hydra", "prterun"});
  for (const fs::path& launcher : launchers) list.line(launcher.string(), launcher_version(launcher));
  if (launchers.empty()) list.line("launchers", "none (no mpirun or mpiexec)");
  std::vector<std::string> compilers;
  for (const fs::path& compiler : on_path({"mpicc", "mpicc.openmpi", "mpicc.mpich"}))
    compilers.push_back(compiler.string());
  list.line("compiler wrappers", compilers.empty() ? "none" : fmt::format("{}", fmt::join(compilers, ", ")), compilers);
}

void print_processor(Listing& list) {
  std::vector<std::string> names;
  for (auto targets = hwy::SupportedTargets(); targets; targets &= targets - 1) {
    names.push_back(hwy::TargetName(targets & -targets));
  }
  list.section("processor");
  list.line("model", base::this_machine().processor);
  const auto cores = std::thread::hardware_concurrency();
  list.line("cores", std::to_string(cores), cores);
  list.line("instruction sets", fmt::format("{}", fmt::join(names, ", ")), names);
}

void print_model(Listing& list, const std::string& setting) {
  const plan::MachineModel model = plan::machine_model(setting);
  list.section("model");
  if (model.found) {
    std::vector<std::string> mpis;
    for (const auto& [library, figures] : model.file.models) mpis.push_back(plan::describe(library));
    list.line("file", model.path);
    const std::string whom = mpis.empty() ? "no MPI" : fmt::format("{}", fmt::join(mpis, ", "));
    list.line("measured", fmt::format("{}, for {}", model.file.date, whom));
  } else if (!model.complaint.empty()) {
    list.remark(model.complaint);
  } else if (model.path.empty()) {
    list.line("file", "none: built-in figures");
  } else {
    list.line("file", fmt::format("built-in figures: there is no {}; `dunnage tune` writes it", model.path));
  }
}

void print_settings(Listing& list, const base::Settings& settings, const std::vector<std::string>& complaints) {
  list.section("settings");
  list.text("  {:<22} {}\n", "", fmt::format("{:<12} {:<24} {}", "value", "from", "default"));
  for (const base::Setting& setting : base::setting_table()) {
    const char* given = std::getenv(std::string(setting.name).c_str());
    base::Settings scratch;
    const char* source = !given || !*given               ? "default"
                         : setting.parse(scratch, given) ? "environment"
                                                         : "default (see below)";
    auto shown = [](std::string_view text) { return text.empty() ? "unset" : text; };
    const std::string value = setting.show(settings);
    list.line(setting.name, fmt::format("{:<12} {:<24} {}", shown(value), source, shown(setting.fallback)),
              {{"value", value}, {"from", source}, {"default", setting.fallback}});
  }
  for (const std::string& complaint : complaints) list.remark(complaint);
}

}  // namespace

int info(bool json) {
  Listing list(json);
  print_parts(list);
  print_mpis(list);
  print_processor(list);
  std::vector<std::string> complaints;
  const base::Settings settings = base::Settings::from_environment(environ, complaints);
  print_devices(list, settings, find_home().backends());
  print_model(list, settings.model);
  print_settings(list, settings, complaints);
  list.finish();
  return 0;
}

}  // namespace dunnage::tool
