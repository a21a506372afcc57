#include "calls/finalize.hpp"

#include "calls/orphans.hpp"
#include "calls/packed_type.hpp"
#include "calls/report.hpp"
#include "calls/types.hpp"

namespace dunnage::calls {

int finalize(Hook, decltype(NextTable::MPI_Finalize) next) {
  finish_orphans();
  report();
  forget_types();
  forget_packed_types();
  return next();
}

}  // namespace dunnage::calls
