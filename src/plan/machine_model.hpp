// The model of this machine. It is read from a model file: the file that a setting names, or the
// file at the usual place.
#pragma once

#include <string>

#include "plan/model_file.hpp"

namespace dunnage::plan {

struct MachineModel {
  std::string path;    // of the file that was looked for; empty if no file was looked for
  bool found = false;  // whether the file was read without a complaint
  ModelFile file;
  // one whole line; empty if all is well, or if there is no file at the usual place
  std::string complaint;

  /// Returns whether the file has the figures of this MPI.
  bool has(const Library& library) const;
  /// Returns the file's figures for this MPI, or the built-in figures if the file has none.
  Model of(const Library& library) const;
};

/// The value of DUNNAGE_MODEL that asks for the built-in figures.
inline constexpr const char* no_file = "none";

/// Returns ${XDG_CACHE_HOME:-$HOME/.cache}/dunnage/model-HASH.json, or an empty path if neither
/// variable is set. HASH is the hash of the kind of machine, because hosts of several kinds may
/// share a home directory.
std::string usual_model_path();

/// Looks for the file and reads it. `setting` is the value of DUNNAGE_MODEL. If it is empty, the
/// file is looked for at the usual place, and a missing file there is no complaint.
MachineModel machine_model(const std::string& setting);

/// As machine_model(), for a program's first MPI call. If there is not even a folder at the usual
/// place, it does not find out what the file's name would be, and leaves `path` empty. The name
/// takes questions to the processor, which cost 50 us in a virtual machine.
MachineModel machine_model_if_any(const std::string& setting);

}  // namespace dunnage::plan
