#include "mpi/hooks/finalize.hpp"

#include <atomic>

#include "device/gpu.hpp"
#include "mpi/broadcast/bcast_group.hpp"
#include "mpi/hooks/one_sided.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/packed_type.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/process/proxy.hpp"
#include "mpi/process/report.hpp"
#include "mpi/process/seen_types.hpp"
#include "mpi/process/types.hpp"
#include "mpi/process/watchdog.hpp"

namespace dunnage::mpi {
namespace {

/// Waits until other ranks have what was sent to them.
void leave_world() {
  // The MPI may have to move a message that comes before an announcement, or the announcement
  // itself.
  if (process->world) process->world->leave(let_mpi_progress);
}

/// After MPI_Finalize: until then callbacks of the program may still receive.
void forget_world() {
  process->initialized = false;
  process->tickets_from = std::numeric_limits<std::int64_t>::max();
  process->pack_trials.tell_no_more();
  process->world.reset();
}

}  // namespace

int finalize(Hook, decltype(NextTable::MPI_Finalize) next) {
  static std::atomic<bool> over{false};  // a tool behind us may call this hook again
  if (!over.exchange(true)) {
    stop_progress_thread();
    stop_watchdog();
    stop_proxy();
    if (process->world) process->world->finalize_begins();
    finish_sends();
    finish_orphans();
    finish_windows();
    leave_world();
    KeptHandle::end_all();
    report();
    tell_types();
    forget_bcast_groups();
    free_private_world();
    end_attributes();
    forget_types();
    forget_packed_types();
    forget_gpu_use();
    if (const auto* driver = device::driver()) device::Gpu::release_all(*driver);
    pack::helpers().stop();  // what waited until here may have been packed with them
  }
  const int rc = next();
  forget_world();
  return rc;
}

}  // namespace dunnage::mpi
