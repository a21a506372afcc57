// dunnage explain bcast: how a broadcast would be done, and how long every algorithm would take.
#pragma once

#include <cstdint>

namespace dunnage::tool {

struct ExplainBcastOptions {
  int ranks = 2, hosts = 1;
  std::uint64_t bytes = 1 << 20;
  bool json = false;  // print JSON in place of text
};

/// Prints the explanation. Returns the exit status.
int explain_bcast(const ExplainBcastOptions& options);

}  // namespace dunnage::tool
