#include "mpi/hooks/one_sided.hpp"

#include <sys/mman.h>

#include <mutex>
#include <string>
#include <vector>

#include "mpi/message/buffer.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

std::mutex windows_mutex;
std::vector<MPI_Win> windows;  // windows that the program was not given

}  // namespace

bool refused(const void* base, MPI_Aint size) {
  return size > 0 && process->settings.force != base::Force::never && on_device(base) && !process->mpi_knows_gpus();
}

int refuse_window(Hook hook, const ErrorsOf& errors) {
  const device::Error error(CUDA_ERROR_INVALID_VALUE, std::string(hook_names[static_cast<std::size_t>(hook)]) +
                                                          " takes host memory only: make the window of host memory");
  process->count(hook, plan::Reason::device_error);
  return raise(errors, code_of(error));
}

void* stand_in(MPI_Aint size) {
  void* there = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return there == MAP_FAILED ? nullptr : there;
}

void keep_window(MPI_Win win) {
  process->own.Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const std::lock_guard lock(windows_mutex);
  windows.push_back(win);
}

void finish_windows() {
  for (auto& win : windows) process->own.Win_free(&win);
  windows.clear();
}

}  // namespace dunnage::mpi
