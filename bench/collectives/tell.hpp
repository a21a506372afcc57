// What a benchmark of calls that all ranks make together prints of one operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench::collectives {

/// All ranks call it. `verified`: whether this rank's bytes are right; `seconds`, `limit` and
/// `nccl`: of each call, on rank 0; `nccl` is empty if NCCL was not measured. Prints a record, and
/// wrong bytes with the program's name. Returns whether all ranks have the right bytes.
bool tell(const std::string& program, const std::string& operation, const std::string& memory, std::int64_t bytes,
          int verified, const std::vector<double>& seconds, const std::vector<double>& limit,
          const std::vector<double>& nccl = {});

}  // namespace bench::collectives
