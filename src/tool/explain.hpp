// dunnage explain: how Dunnage handles a datatype, and why.
#pragma once

#include <string>

namespace dunnage::tool {

struct ExplainOptions {
  std::string type;     // in the text form, for example vector(1024,1,1024,double)
  long long count = 1;  // elements in one message
  std::string memory = "host";
  std::string report;  // the path of a report whose trials are shown; empty if none is
};

/// Prints the explanation. Returns the exit status.
int explain(const ExplainOptions& options);

}  // namespace dunnage::tool
