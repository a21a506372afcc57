// The options of the command line.
#pragma once

#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "cuda_aware/measure.hpp"

namespace bench {

struct Options {
  std::vector<std::string> memory{"device", "host", "staged"};
  std::vector<std::size_t> bytes, strided_bytes, blocks, fresh_bytes;
  int window = 16;
  /// The most bytes of one side's window; longer windows are shortened, and larger messages left
  /// out.
  std::size_t most = std::size_t{1} << 30;
  double too_long = 10;  ///< seconds; a series that would take longer is left out
  Effort effort;
  std::string nccl = "libnccl.so.2";
  std::string damaged = "none";

  bool wants(const std::string& what) const;
  Damage damage() const;
};

void add_options(CommandLine& line, Options& options);

}  // namespace bench
