#include "mpi/copies/declined.hpp"

#include <algorithm>

#include "mpi/process/types.hpp"

namespace dunnage::mpi {
namespace {

thread_local int depth = 0;

bool has_no_gaps(MPI_Datatype type) {
  const auto* known = known_type(type);  // insignificant arguments may hold anything, which is then not found
  return known && known->reason() == plan::Reason::contiguous;
}

}  // namespace

Declined::Declined(Hook hook, std::initializer_list<MPI_Datatype> types, bool counted)
    : hook_(hook), counted_(counted && process->reporting && depth == 0) {
  ++depth;
  if (counted_ && types.size() != 0 && std::all_of(types.begin(), types.end(), has_no_gaps))
    reason_ = plan::Reason::contiguous;
}

Declined::~Declined() {
  --depth;
  if (counted_) process->count(hook_, reason_);
}

}  // namespace dunnage::mpi
