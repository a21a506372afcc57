#include "common/record.hpp"

#include <iostream>

#include "common/statistics.hpp"

namespace bench {

nlohmann::json to_json(const std::vector<double>& samples) {
  const Summary summary = summarize(samples);
  return {{"median", summary.median},
          {"trimean", summary.trimean},
          {"p10", summary.p10},
          {"p90", summary.p90},
          {"samples", samples}};
}

void print(const nlohmann::json& record) { std::cout << record.dump() << std::endl; }

}  // namespace bench
