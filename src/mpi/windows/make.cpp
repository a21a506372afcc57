#include "mpi/windows/make.hpp"

#include <mutex>
#include <string>
#include <vector>

#include "mpi/message/buffer.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/windows/window.hpp"

namespace dunnage::mpi {
namespace {

std::mutex nobodys_mutex;
std::vector<MPI_Win> nobodys;  // windows that the program was not given

/// This rank cannot make its part of a window. It takes part in the call without memory, so that
/// the others need not wait.
int make_for_nobody(MPI_Comm comm, MPI_Win* win, base::FunctionRef<int(void*, MPI_Aint)> make, int code) {
  const int rc = make(nullptr, 0);
  if (rc != MPI_SUCCESS) return rc;
  process->own.Win_set_errhandler(*win, MPI_ERRORS_RETURN);
  {
    const std::lock_guard lock(nobodys_mutex);
    nobodys.push_back(*win);
  }
  *win = MPI_WIN_NULL;
  return raise(comm, code);
}

/// The code of a call that cannot take device memory.
int host_only(Hook hook, const char* what_to_do) {
  const device::Error error(CUDA_ERROR_INVALID_VALUE, std::string(hook_names[static_cast<std::size_t>(hook)]) +
                                                          " takes host memory only here: " + what_to_do);
  process->count(hook, plan::Reason::device_error);
  return code_of(error);
}

}  // namespace

bool beyond_mpi(const void* base, MPI_Aint size) {
  return size > 0 && process->settings.force != base::Force::never && on_device(base) && !process->mpi_knows_gpus();
}

namespace {

/// Whether all ranks of MPI_COMM_WORLD are known to be here. The same on all of them.
bool ranks_know_each_other() {
  const auto how = process->settings.collectives;
  return how != base::Collectives::off && (how == base::Collectives::on || process->everyone || process->alone) &&
         process->initialized.load(std::memory_order_relaxed);
}

/// Whether something is true of a rank of the communicator.
bool anybody(MPI_Comm comm, bool here) {
  const int mine = here;
  int somewhere = here;
  return process->own.Allreduce(&mine, &somewhere, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS && somewhere;
}

/// The ranks of a window take their seats. All ranks call it at a time.
void take_seats(MPI_Comm comm, Window::Parts& parts) {
  std::vector<int> world;
  for (int rank = 0, count = members(comm); rank < count; ++rank) world.push_back(world_rank(comm, rank));
  parts.seats = Seats::make(comm, world, static_cast<std::uint32_t>(parts.rank));
  if (parts.seats) process->own.Comm_group(comm, &parts.group);
}

/// Whether a window of that communicator may be one of ours. Finds the rank.
bool may_be_ours(MPI_Comm comm, int& rank) {
  int between = 0;
  return comm != MPI_COMM_NULL && process->own.Comm_test_inter(comm, &between) == MPI_SUCCESS && !between &&
         process->own.Comm_rank(comm, &rank) == MPI_SUCCESS;
}

}  // namespace

int make_window(Hook hook, void* base, MPI_Aint size, std::int64_t unit, MPI_Comm comm, MPI_Win* win,
                base::FunctionRef<int(void*, MPI_Aint)> make) {
  Window::Parts parts;
  const bool together = ranks_know_each_other();
  bool device = beyond_mpi(base, size);
  if ((!device && !together) || !may_be_ours(comm, parts.rank)) return make(base, size);
  if (together && !anybody(comm, device)) return make(base, size);
  int code = MPI_SUCCESS;
  if (device) {
    if (device::driver()) parts.shadow = Shadow::make(base, size);
    if (!parts.shadow) code = device::driver() ? MPI_ERR_NO_MEM : host_only(hook, "make the window of host memory");
    device = parts.shadow != nullptr;
  }
  if (together) take_seats(comm, parts);
  parts.copied = !parts.seats;
  if (parts.seats)
    parts.targets = agree_on_targets(comm, *parts.seats, device ? base : nullptr, code == MPI_SUCCESS ? size : 0, unit);
  const bool direct = !parts.targets.empty() && parts.targets[static_cast<std::size_t>(parts.rank)].direct();
  if (parts.shadow && !direct) code = guarded([&] { parts.shadow->begin(); });
  if (code != MPI_SUCCESS) return make_for_nobody(comm, win, make, code);
  const int rc = parts.shadow ? make(parts.shadow->data(), size) : make(base, size);
  if (rc == MPI_SUCCESS) keep_window(*win, std::make_shared<Window>(std::move(parts)));
  return rc;
}

int make_dynamic_window(MPI_Comm comm, MPI_Win* win, base::FunctionRef<int()> make) {
  Window::Parts parts;
  const bool device = device::driver() && process->settings.force != base::Force::never && !process->mpi_knows_gpus();
  if (!ranks_know_each_other() || !may_be_ours(comm, parts.rank) || !anybody(comm, device)) return make();
  take_seats(comm, parts);
  if (!parts.seats) return make();
  parts.dynamic = true;
  parts.attaches = may_attach(*parts.seats);
  const int rc = make();
  if (rc == MPI_SUCCESS) keep_window(*win, std::make_shared<Window>(std::move(parts)));
  return rc;
}

int attach_to_window(Hook hook, MPI_Win win, void* base, MPI_Aint size) {
  const auto window = find_window(win);
  int code = MPI_SUCCESS;
  if (!window || !window->attaches()) {
    code = host_only(hook, "attach host memory");
  } else if (const int thrown = guarded([&] { code = window->attach(base, size); }); thrown != MPI_SUCCESS) {
    code = thrown;
  }
  return code == MPI_SUCCESS ? code : raise(errors_of_win(win), code);
}

bool detach_from_window(MPI_Win win, const void* base) {
  const auto window = find_window(win);
  return window && window->detach(base);
}

bool attaches_device_memory(MPI_Win win) {
  const auto window = find_window(win);
  return window && window->attaches();
}

int end_window(MPI_Win* win, base::FunctionRef<int()> end) {
  const auto handle = *win;
  const auto window = find_window(handle);
  if (!window) return end();
  const auto errors = errors_of_comm(MPI_COMM_WORLD);  // the window's own handler goes with it
  const Synchronization how{Synchronization::Call::free};
  int code = window->before(how);
  const int rc = end();
  if (rc != MPI_SUCCESS) return rc;
  forget_window(handle);
  if (const int failed = window->after(how); failed != MPI_SUCCESS) code = failed;
  return code == MPI_SUCCESS ? rc : raise(errors, code);
}

void finish_windows() {
  forget_all_windows();
  for (auto& win : nobodys) process->own.Win_free(&win);
  nobodys.clear();
}

}  // namespace dunnage::mpi
