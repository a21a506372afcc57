// dunnage explain: how Dunnage handles a datatype, and why.
#pragma once

#include <optional>
#include <string>

namespace dunnage::tool {

/// How long packing one element took in a program (DUNNAGE_EXPLAIN).
struct TimesInProgram {
  std::string library;  // the MPI's version
  double mpi, dunnage;  // seconds
  bool alike;           // both packed the same bytes
};

struct ExplainOptions {
  std::string type;     // in the text form, for example vector(1024,1,1024,double)
  long long count = 1;  // elements in one message
  std::string memory = "host";
  std::string report;  // the path of a report whose trials are shown; empty if none is
  bool json = false;   // print JSON in place of text
  std::optional<TimesInProgram> times;
};

class Listing;

/// Explains one type. Returns the exit status.
int explain(Listing& list, const ExplainOptions& options);

/// Prints the explanation. Returns the exit status.
int explain(const ExplainOptions& options);

}  // namespace dunnage::tool
