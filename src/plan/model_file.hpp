// The model file that `dunnage tune` writes: what one machine's MPIs cost. Its format is described
// in docs/reference/model-file.md.
//
// Everything here is a pure function of the file's text and of the machine. plan/machine_model.hpp
// finds the file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/machine.hpp"
#include "plan/host.hpp"
#include "plan/library.hpp"

namespace dunnage::plan {

struct ModelFile {
  std::string date;                               // when it was last written
  std::vector<std::pair<Library, Model>> models;  // one for each MPI in the file
  std::string complaint;  // what is wrong with the file, to follow its name; if set, there are no models
};

/// Reads a model file. A figure that the file lacks keeps its built-in value. What an MPI does, not
/// what it costs, is always built in. If any value in the file makes no sense, the result has no
/// models and a complaint.
ModelFile read_model_file(std::string_view text, const base::Machine& machine);

/// Returns a model's figures in the form in which they stand in a file.
nlohmann::json figures(const Model& model);
/// Returns a machine's properties in the form in which they stand in a file.
nlohmann::json to_json(const base::Machine& machine);

}  // namespace dunnage::plan
