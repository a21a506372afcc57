#include "plan/machine_model.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.hpp"
#include "plan/processor_figures.hpp"

namespace dunnage::plan {

namespace {

constexpr off_t largest_file = 1 << 20;

struct Contents {
  std::string text;
  const char* problem = nullptr;
  bool opened = false;
};

/// Who may change a file decides what every program of the user does. So the file and its folder
/// must belong to the user or to root, and nobody else may write there. In a folder with the sticky
/// bit others cannot replace the file.
bool ours(const struct stat& about) { return about.st_uid == geteuid() || about.st_uid == 0; }

/// Whether other users may write. The user's own group is the user's affair: many systems give each
/// user a group of that name.
bool others_write(const struct stat& about) {
  return (about.st_mode & S_IWOTH) || ((about.st_mode & S_IWGRP) && about.st_gid != getegid() && about.st_gid != 0);
}

const char* mistrust_of_folder(const std::string& path) {
  const auto end = path.rfind('/');
  const auto folder = end == path.npos ? std::string(".") : path.substr(0, end + 1);
  struct stat about;
  if (stat(folder.c_str(), &about) != 0) return std::strerror(errno);
  if (!ours(about)) return "its folder belongs to another user";
  return others_write(about) && !(about.st_mode & S_ISVTX) ? "others may write to its folder" : nullptr;
}

/// Why an open file is not to be believed. Null if it is.
const char* mistrust(const std::string& path, int file, const struct stat& about) {
  if (!ours(about)) return "it belongs to another user";
  if (others_write(about)) return "others may write to it";
  if (const char* why = mistrust_of_folder(path)) return why;
  char real[PATH_MAX + 1] = "";  // the path may be a link
  if (readlink(fmt::format("/proc/self/fd/{}", file).c_str(), real, PATH_MAX) <= 0) return nullptr;
  return mistrust_of_folder(real);
}

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
  } else if (const char* why = mistrust(path, file, about)) {
    contents.problem = why;
  } else {
    contents.text.resize(static_cast<std::size_t>(about.st_size));
    const auto got = read(file, contents.text.data(), contents.text.size());
    contents.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  close(file);
  return contents;
}

/// Where model files usually are. Empty if the environment does not tell.
std::string usual_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache == '/')  // the XDG standard says that a relative path is to be ignored
    return std::string(cache) + "/dunnage";
  return home && *home ? std::string(home) + "/.cache/dunnage" : "";
}

auto find(const ModelFile& file, const Library& library) {
  return std::find_if(file.models.begin(), file.models.end(),
                      [&](const auto& entry) { return entry.first == library; });
}

}  // namespace

bool MachineModel::has(const Library& library) const { return find(file, library) != file.models.end(); }

Model MachineModel::of(const Library& library) const {
  const auto at = find(file, library);
  return at != file.models.end() ? at->second : built_in_model(library);
}

std::string usual_model_path() {
  const auto folder = usual_folder();
  return folder.empty() ? "" : fmt::format("{}/model-{}.json", folder, base::short_hash(base::this_machine()));
}

MachineModel machine_model_if_any(const std::string& setting) {
  const bool none = setting.empty() && access(usual_folder().c_str(), F_OK) != 0;
  return none ? MachineModel() : machine_model(setting);
}

MachineModel machine_model(const std::string& setting) {
  MachineModel model;
  if (setting == no_file) return model;
  model.path = setting.empty() ? usual_model_path() : setting;
  if (model.path.empty()) return model;
  const auto complain = [&](const std::string& what) {
    model.complaint = fmt::format("{} {}; built-in figures are used; `dunnage tune` writes a new one",
                                  base::one_line(model.path, base::longest_path), what);
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
