// Calls that are left to the MPI whatever the data, counted where a report is wanted.
#pragma once

#include <initializer_list>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Counts one such call at its end. Lives as long as the call, so that what an MPI does by its own
/// functions is not counted again (its file access calls its collectives). Thread-safe.
class Declined {
 public:
  /// `types`: the datatype arguments; none where they are arrays. `counted`: whether at all.
  Declined(Hook hook, std::initializer_list<MPI_Datatype> types, bool counted = true);
  Declined(const Declined&) = delete;
  Declined& operator=(const Declined&) = delete;
  ~Declined();
  /// It is counted for another reason.
  void because(plan::Reason reason) { reason_ = reason; }

 private:
  const Hook hook_;
  bool counted_;
  plan::Reason reason_ = plan::Reason::passed_on;
};

}  // namespace dunnage::mpi
