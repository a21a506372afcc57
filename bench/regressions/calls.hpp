// The MPI calls that the sweep measures, between two ranks.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "regressions/subject.hpp"

namespace bench::regressions {

/// Whether a call goes past the preloaded library or through it.
enum class Way { plain, dunnage };

/// One kind of call with the buffers and requests that it needs.
class Call {
 public:
  virtual ~Call() = default;
  /// Does the call once on both ranks. Rank 0's time counts: it ends when rank 1 has the data.
  virtual void once(Way way) = 0;
  /// Poisons, does the call once, and returns whether this rank's bytes are right.
  virtual bool right(Way way) = 0;
};

/// Makes a call on this rank of MPI_COMM_WORLD, which has two ranks. `subject` must outlive it.
struct Kind {
  std::string_view name;
  std::unique_ptr<Call> (*make)(Subject& subject, int rank);
};
const std::vector<Kind>& kinds();

}  // namespace bench::regressions
