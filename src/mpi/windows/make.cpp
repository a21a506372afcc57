#include "mpi/windows/make.hpp"

#include <mutex>
#include <string>
#include <vector>

#include "mpi/message/buffer.hpp"
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

int no_kernels(Hook hook) {
  const device::Error error(CUDA_ERROR_INVALID_VALUE, std::string(hook_names[static_cast<std::size_t>(hook)]) +
                                                          " takes host memory only: make the window of host memory");
  process->count(hook, plan::Reason::device_error);
  return code_of(error);
}

}  // namespace

bool beyond_mpi(const void* base, MPI_Aint size) {
  return size > 0 && process->settings.force != base::Force::never && on_device(base) && !process->mpi_knows_gpus();
}

int refuse_window(Hook hook, const ErrorsOf& errors) { return raise(errors, no_kernels(hook)); }

int make_window(Hook hook, void* base, MPI_Aint size, MPI_Comm comm, MPI_Win* win,
                base::FunctionRef<int(void*, MPI_Aint)> make) {
  if (!beyond_mpi(base, size)) return make(base, size);
  if (!device::driver()) return make_for_nobody(comm, win, make, no_kernels(hook));
  int rank = 0;
  if (comm == MPI_COMM_NULL || process->own.Comm_rank(comm, &rank) != MPI_SUCCESS) return make(base, size);
  auto shadow = Shadow::make(base, size);
  const int code = shadow ? guarded([&] { shadow->begin(); }) : MPI_ERR_NO_MEM;
  if (code != MPI_SUCCESS) return make_for_nobody(comm, win, make, code);
  const int rc = make(shadow->data(), size);
  if (rc == MPI_SUCCESS) keep_window(*win, std::make_shared<Window>(rank, std::move(shadow)));
  return rc;
}

int end_window(MPI_Win* win, base::FunctionRef<int()> end) {
  const auto handle = *win;
  const auto window = find_window(handle);
  if (!window) return end();
  const auto errors = errors_of_comm(MPI_COMM_WORLD);  // the window's own handler goes with it
  const int rc = end();
  if (rc != MPI_SUCCESS) return rc;
  forget_window(handle);
  const int code = window->after(Synchronization::free, no_rank);
  return code == MPI_SUCCESS ? rc : raise(errors, code);
}

void finish_windows() {
  forget_all_windows();
  for (auto& win : nobodys) process->own.Win_free(&win);
  nobodys.clear();
}

}  // namespace dunnage::mpi
