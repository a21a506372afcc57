#include "calls/declined.hpp"

#include <algorithm>

#include "calls/types.hpp"

namespace dunnage::calls {
namespace {

thread_local int depth = 0;

bool contiguous(MPI_Datatype type) {
  const auto* known = known_type(type);  // insignificant arguments may hold anything, which is then not found
  return known && known->reason() == plan::Reason::contiguous;
}

}  // namespace

Declined::Declined(Hook hook, std::initializer_list<MPI_Datatype> types) {
  if (depth++ > 0) return;
  const bool plain = types.size() != 0 && std::all_of(types.begin(), types.end(), contiguous);
  context->count(hook, plain ? plan::Reason::contiguous : plan::Reason::passed_on);
}

Declined::~Declined() { --depth; }

}  // namespace dunnage::calls
