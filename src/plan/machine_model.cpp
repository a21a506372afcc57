#include "plan/machine_model.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dunnage::plan {

namespace {

constexpr off_t largest_file = 1 << 20;

struct Contents {
  std::string text;
  const char* problem = nullptr;
  bool opened = false;
};

/// Reads a file without ever waiting: the path may name a pipe.
Contents contents_of(const std::string& path) {
  Contents contents;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    contents.problem = std::strerror(errno);
    return contents;
  }
  contents.opened = true;
  struct stat about;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    contents.problem = "not a file";
  } else if (about.st_size > largest_file) {
    contents.problem = "too large for a model file";
  } else {
    contents.text.resize(static_cast<std::size_t>(about.st_size));
    const auto got = read(file, contents.text.data(), contents.text.size());
    contents.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  close(file);
  return contents;
}

auto find(const ModelFile& file, const Library& library) {
  return std::find_if(file.models.begin(), file.models.end(),
                      [&](const auto& entry) { return entry.first == library; });
}

}  // namespace

bool MachineModel::has(const Library& library) const { return find(file, library) != file.models.end(); }

Model MachineModel::of(const Library& library) const {
  const auto at = find(file, library);
  return at == file.models.end() ? default_model(library) : at->second;
}

std::string usual_model_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache && *cache == '/')  // the XDG standard says that a relative path is to be ignored
    folder = cache;
  else if (home && *home)
    folder = std::string(home) + "/.cache";
  else
    return {};
  return fmt::format("{}/dunnage/model-{}.json", folder, base::short_hash(base::this_machine()));
}

MachineModel machine_model(const std::string& setting) {
  MachineModel model;
  if (setting == no_file) return model;
  model.path = setting.empty() ? usual_model_path() : setting;
  if (model.path.empty()) return model;
  const auto complain = [&](const std::string& what) {
    model.complaint =
        fmt::format("{} {}; built-in figures are used; `dunnage tune` writes a new one", model.path, what);
  };
  const auto contents = contents_of(model.path);
  if (contents.problem) {
    // At the usual place there need not be a file, nor a folder that this process may read.
    if (contents.opened || !setting.empty()) complain(fmt::format("cannot be read ({})", contents.problem));
    return model;
  }
  model.file = read_model_file(contents.text, base::this_machine());
  if (model.file.complaint.empty())
    model.found = true;
  else
    complain(model.file.complaint);
  return model;
}

}  // namespace dunnage::plan
