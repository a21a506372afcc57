#pragma once

#include <nlohmann/json.hpp>

#include "common/evict.hpp"
#include "patterns.hpp"

namespace bench {

enum class Operation { pack, unpack };

/// What is done with each pattern. main() chooses the patterns.
struct Experiment {
  std::vector<Operation> operations;
  int cold_repetitions = 15;
  int warm_repetitions = 31;
  bool dunnage = false;  ///< whether MPI_Pack is Dunnage's
  Evictor evictor = {};

  /// Returns one record for each operation.
  std::vector<nlohmann::json> run(const Pattern& pattern, const Layout& layout) const;
};

}  // namespace bench
