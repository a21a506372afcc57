// dunnage explain: what Dunnage makes of a datatype, and why.
#pragma once

#include <string>

namespace dunnage::tool {

struct ExplainOptions {
    std::string type;        // in the text form, for example vector(1024,1,1024,double)
    long long count = 1;     // of the type in one message
    std::string memory = "host";
};

int explain(const ExplainOptions& options);

}  // namespace dunnage::tool
