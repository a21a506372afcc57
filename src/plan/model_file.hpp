// The model file, as `dunnage tune` writes it: what one machine's MPIs were found to cost. docs/reference/model-file.md.
//
// Everything here is a pure function of the file's text and of the machine. Where the file is, plan/machine_model.hpp knows.
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
  std::vector<std::pair<Library, Model>> models;  // of each MPI in it
  std::string complaint;  // what is wrong with it, to stand behind its name; there are no models then
};

/// What is not in the file keeps the built-in figure, and what an MPI does, not what it costs, always does. A file with anything
/// senseless in it is not used at all.
ModelFile read_model_file(std::string_view text, const base::Machine& machine);

/// The figures as they stand in a file.
nlohmann::json figures(const Model& model);
nlohmann::json to_json(const base::Machine& machine);

}  // namespace dunnage::plan
