// dunnage explain bcast: how a broadcast would be done, and what every algorithm would take.
#pragma once

#include <cstdint>

namespace dunnage::tool {

struct ExplainBcastOptions {
    int ranks = 2, hosts = 1;
    std::uint64_t bytes = 1 << 20;
};

int explain_bcast(const ExplainBcastOptions& options);

}  // namespace dunnage::tool
