#include "mpi/hooks/narrowed.hpp"

#include "mpi/message/attach.hpp"
#include "mpi/process/error.hpp"

namespace dunnage::mpi {

int large_pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size) {
  int of_one = 0;
  const int judged = process->next.MPI_Pack_size(incount < 0 ? -1 : 1, datatype, comm, size ? &of_one : nullptr);
  MPI_Count each = 0;
  if (judged != MPI_SUCCESS || !size || process->own.Type_size_x(datatype, &each) != MPI_SUCCESS) return judged;
  MPI_Count all = 0;
  if (__builtin_mul_overflow(incount, each, &all)) return too_large(comm);
  *size = all;
  return MPI_SUCCESS;
}

int too_large(MPI_Comm comm) { return raise(comm, MPI_ERR_ARG); }

void keep_arrays(MPI_Request request, bool persistent, std::vector<Narrowed> arrays) {
  auto kept = std::make_shared<std::vector<Narrowed>>(std::move(arrays));
  // The call has begun an operation of ours, which keeps the arrays. Other entries are those of
  // operations that ended unseen and had this handle.
  if (auto* known = process->requests.find(key_of(request)); known && (known->has_copies() || known->collective()))
    return known->keep(std::move(kept));
  auto operation = std::make_unique<Request>();
  operation->persistent = persistent;
  operation->keep(std::move(kept));
  attach(request, std::move(operation));
}

}  // namespace dunnage::mpi
