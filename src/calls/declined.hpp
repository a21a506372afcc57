// Calls that are left to the MPI whatever the data: they are counted where a report is wanted. The shim hooks them for
// nothing else, and not at all without a report.
#pragma once

#include <initializer_list>

#include "calls/context.hpp"

namespace dunnage::calls {

/// Counts one such call. Lives as long as the call, so that what an MPI does by its own functions is not counted again
/// (its file access calls its collectives). Thread-safe.
class Declined {
 public:
  /// `types`: the datatype arguments; none where they are arrays.
  Declined(Hook hook, std::initializer_list<MPI_Datatype> types);
  Declined(const Declined&) = delete;
  Declined& operator=(const Declined&) = delete;
  ~Declined();
};

}  // namespace dunnage::calls
