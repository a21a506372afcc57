#include "tool/info.hpp"

#include <fmt/format.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/machine.hpp"
#include "base/settings.hpp"
#include "plan/machine_model.hpp"
#include "tool/info_devices.hpp"
#include "tool/line.hpp"
#include "tool/paths.hpp"
#include "tool/process.hpp"

namespace fs = std::filesystem;

namespace dunnage::tool {
namespace {

std::string presence(const fs::path& path) {
  return fs::exists(path) ? path.string() : fmt::format("{} is missing", path.string());
}

// Returns the name of a backend, which is an ABI family, and the MPIs that it serves.
std::string serves(const std::string& family) {
  if (family == "openmpi") return "openmpi (Open MPI 4, 5)";
  if (family == "mpich") return "mpich (MPICH, Intel MPI and others of its ABI)";
  if (family == "abi") return "abi (the standard's: libmpi_abi.so of any MPI)";
  return family;
}

void print_parts() {
  const Home home = find_home();
  fmt::print("dunnage {}\n", DUNNAGE_VERSION);
  line("home", home.folder.string());
  line("library", presence(home.library()));
  std::vector<std::string> backends;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(home.backends(), none)) {
    const std::string stem = entry.path().stem().string(), prefix = "libdunnage-";
    if (stem.starts_with(prefix)) backends.push_back(serves(stem.substr(prefix.size())));
  }
  std::ranges::sort(backends);
  line("backends", backends.empty() ? fmt::format("none in {}", home.backends().string())
                                    : fmt::format("{}", fmt::join(backends, ", ")));
  line("python package", presence(home.python()));
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

void print_mpis() {
  fmt::print("MPI on PATH\n");
  const auto launchers = on_path({"mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec", "mpiexec.hydra", "prterun"});
  for (const fs::path& launcher : launchers) line(launcher.string(), launcher_version(launcher));
  if (launchers.empty()) line("launchers", "none (no mpirun or mpiexec)");
  std::vector<std::string> compilers;
  for (const fs::path& compiler : on_path({"mpicc", "mpicc.openmpi", "mpicc.mpich"}))
    compilers.push_back(compiler.string());
  line("compiler wrappers", compilers.empty() ? "none" : fmt::format("{}", fmt::join(compilers, ", ")));
}

void print_processor() {
  std::vector<std::string> names;
  for (auto targets = hwy::SupportedTargets(); targets; targets &= targets - 1) {
    names.push_back(hwy::TargetName(targets & -targets));
  }
  fmt::print("processor\n");
  line("model", base::this_machine().processor);
  line("cores", fmt::format("{}", std::thread::hardware_concurrency()));
  line("instruction sets", fmt::format("{}", fmt::join(names, ", ")));
}

void print_model(const std::string& setting) {
  const plan::MachineModel model = plan::machine_model(setting);
  fmt::print("model\n");
  if (model.found) {
    std::vector<std::string> mpis;
    for (const auto& [library, figures] : model.file.models) mpis.push_back(plan::describe(library));
    line("file", model.path);
    const std::string whom = mpis.empty() ? "no MPI" : fmt::format("{}", fmt::join(mpis, ", "));
    line("measured", fmt::format("{}, for {}", model.file.date, whom));
  } else if (!model.complaint.empty()) {
    fmt::print("  ! {}\n", model.complaint);
  } else if (model.path.empty()) {
    line("file", "none: built-in figures");
  } else {
    line("file", fmt::format("built-in figures: there is no {}; `dunnage tune` writes it", model.path));
  }
}

void print_settings(const base::Settings& settings, const std::vector<std::string>& complaints) {
  fmt::print("settings\n");
  line("", fmt::format("{:<12} {:<24} {}", "value", "from", "default"));
  for (const base::Setting& setting : base::setting_table()) {
    const char* given = std::getenv(std::string(setting.name).c_str());
    base::Settings scratch;
    const char* source = !given || !*given               ? "default"
                         : setting.parse(scratch, given) ? "environment"
                                                         : "default (see below)";
    auto shown = [](std::string_view text) { return text.empty() ? "unset" : text; };
    line(setting.name, fmt::format("{:<12} {:<24} {}", shown(setting.show(settings)), source, shown(setting.fallback)));
  }
  for (const std::string& complaint : complaints) fmt::print("  ! {}\n", complaint);
}

}  // namespace

int info() {
  print_parts();
  print_mpis();
  print_processor();
  std::vector<std::string> complaints;
  const base::Settings settings = base::Settings::from_environment(environ, complaints);
  print_devices(settings, find_home().backends());
  print_model(settings.model);
  print_settings(settings, complaints);
  return 0;
}

}  // namespace dunnage::tool
