#include "mpi/windows/access.hpp"

#include "mpi/message/attach.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

/// The MPI does the operation without data. It judges the arguments and the epoch, and makes the
/// request.
int check(bool put, const Elements& origin, int target, const Reach& reach, MPI_Win win, MPI_Request* request) {
  const auto& own = process->own;
  auto* const buffer = const_cast<void*>(origin.buffer);
  if (put)
    return request ? own.Rput(buffer, 0, origin.type, target, 0, 0, reach.type, win, request)
                   : own.Put(buffer, 0, origin.type, target, 0, 0, reach.type, win);
  return request ? own.Rget(buffer, 0, origin.type, target, 0, 0, reach.type, win, request)
                 : own.Get(buffer, 0, origin.type, target, 0, 0, reach.type, win);
}

/// Begins to move the data. Returns an MPI error code.
int move(Hook hook, bool put, Window& window, const Target& target, const Elements& origin, const Reach& reach) {
  memory::Buffer there;
  if (const int code = buffer_in(target, reach, there); code != MPI_SUCCESS) return code;
  if (!there || origin.count == 0) return MPI_SUCCESS;
  const auto here = buffer_of(const_cast<void*>(origin.buffer), origin.count, origin.type);
  const auto& from = put ? here : there;
  const auto& to = put ? there : here;
  const auto bytes = from.size();
  if (bytes > to.size()) return MPI_ERR_TRUNCATE;
  const Accelerated counted(hook, bytes);
  process->count(hook, plan::GpuWay::direct_window);
  return window.moves().add(from, to, bytes, target.mapping);
}

}  // namespace

int ended(MPI_Win win, int checked, int code, MPI_Request* request) {
  if (request) forget_request(checked, request);
  if (checked != MPI_SUCCESS || code == MPI_SUCCESS) return checked;
  if (request) process->own.Wait(request, MPI_STATUS_IGNORE);
  return raise(errors_of_win(win), code);
}

void DirectAccess::run(Hook hook, const Elements& origin, int rank, Reach reach, MPI_Win win, MPI_Request* request) {
  if (for_mpi_to_judge(origin, reach)) return;
  const auto window = find_window(win);
  std::optional<Target> target;
  int code = window ? guarded([&] { target = window->direct(rank, reach); }) : MPI_SUCCESS;
  if (!target && code == MPI_SUCCESS) return;
  const bool put =
      hook == Hook::MPI_Put || hook == Hook::MPI_Put_c || hook == Hook::MPI_Rput || hook == Hook::MPI_Rput_c;
  const int checked = check(put, origin, rank, reach, win, request);
  if (checked == MPI_SUCCESS && target) {
    const int thrown = guarded([&] { code = move(hook, put, *window, *target, origin, reach); });
    if (thrown != MPI_SUCCESS) code = thrown;
    if (request && code == MPI_SUCCESS) code = window->moves().complete();
  }
  code_ = ended(win, checked, code, request);
}

}  // namespace dunnage::mpi
