// The JSON lines that every benchmark program writes and python/dunnage/bench reads.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace bench {

/// Returns the first line: which MPI this is, and whether Dunnage is loaded.
nlohmann::json header();

/// Returns one series: its statistics and every sample.
nlohmann::json to_json(const std::vector<double>& samples);

/// Writes one line at once, so that a program that dies leaves what it has measured so far.
void print(const nlohmann::json& record);

}  // namespace bench
