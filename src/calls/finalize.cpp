#include "calls/finalize.hpp"

#include <atomic>

#include "calls/bcast_group.hpp"
#include "calls/gpu_pack.hpp"
#include "calls/gpu_tickets.hpp"
#include "calls/one_sided.hpp"
#include "calls/orphans.hpp"
#include "calls/packed_type.hpp"
#include "calls/progress.hpp"
#include "calls/report.hpp"
#include "calls/tickets.hpp"
#include "calls/types.hpp"

namespace dunnage::calls {

int finalize(Hook, decltype(NextTable::MPI_Finalize) next) {
  static std::atomic<bool> over{false};  // a tool behind us comes by again
  if (!over.exchange(true)) {
    stop_progress_thread();
    finish_orphans();
    finish_windows();
    leave_world();
    report();
    forget_bcast_groups();
    forget_types();
    forget_packed_types();
#ifdef DUNNAGE_CUDA
    forget_gpu_tickets();
    forget_gpus();
#endif
  }
  const int rc = next();
  forget_world();
  return rc;
}

}  // namespace dunnage::calls
