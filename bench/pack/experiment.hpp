#pragma once

#include <nlohmann/json.hpp>

#include "common/evict.hpp"
#include "patterns.hpp"

namespace bench {

enum class Operation { pack, unpack };

/// What is done with each pattern; which ones, main chooses.
struct Experiment {
  std::vector<Operation> operations;
  int cold_repetitions = 15;
  int warm_repetitions = 31;
  bool dunnage = false;  ///< MPI_Pack is Dunnage's
  Evictor evictor = {};

  /// One record per operation.
  std::vector<nlohmann::json> run(const Pattern& pattern, const Layout& layout) const;
};

}  // namespace bench
