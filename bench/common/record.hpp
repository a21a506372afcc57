// The JSON lines that every benchmark program writes and python/dunnage/bench reads.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace bench {

/// The first line: which MPI this is, and whether Dunnage is loaded.
nlohmann::json header();

/// One series: its statistics and every sample.
nlohmann::json to_json(const std::vector<double>& samples);

/// Writes one line at once, so that a program that dies leaves what it has measured.
void print(const nlohmann::json& record);

}  // namespace bench
