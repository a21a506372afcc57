// The model of this machine: the model file that a setting names or that stands at its usual place, if there is one.
#pragma once

#include <string>

#include "plan/model_file.hpp"

namespace dunnage::plan {

struct MachineModel {
  std::string path;       // of the file that was looked for; empty where none was
  bool found = false;     // and read, without a complaint
  ModelFile file;
  std::string complaint;  // one whole line; empty where all is well, also where there just is no file

  /// Whether the file has the figures of this MPI.
  bool has(const Library& library) const;
  /// Those, or the built-in ones.
  Model of(const Library& library) const;
};

/// What DUNNAGE_MODEL may say besides a path: built-in figures.
inline constexpr const char* no_file = "none";

/// ${XDG_CACHE_HOME:-$HOME/.cache}/dunnage/model-HASH.json, the hash being that of the kind of machine: hosts of several kinds may
/// share a home. Empty where neither variable says where.
std::string usual_model_path();

/// Looks for the file and reads it. `setting` is DUNNAGE_MODEL; empty: at the usual place, where nobody is told if it is not there.
MachineModel machine_model(const std::string& setting);

}  // namespace dunnage::plan
