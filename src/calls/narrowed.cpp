#include "calls/narrowed.hpp"

#include "calls/error.hpp"
#include "calls/nonblocking.hpp"

namespace dunnage::calls {

int members(MPI_Comm comm) {
  int size = 0;
  return context->own.Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

int peers(MPI_Comm comm) {
  int between = 0, size = 0;
  if (context->own.Comm_test_inter(comm, &between) != MPI_SUCCESS || !between) return members(comm);
  return context->own.Comm_remote_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

int peers_at_root(int root, MPI_Comm comm) {
  int rank = MPI_PROC_NULL, between = 0;
  if (context->own.Comm_test_inter(comm, &between) != MPI_SUCCESS) return 0;
  if (between) return root == MPI_ROOT ? peers(comm) : 0;
  return context->own.Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root ? peers(comm) : 0;
}

Neighbours neighbours(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, n = 0, rank = 0, weighted = 0;
  Neighbours found{0, 0};
  context->own.Topo_test(comm, &kind);
  if (kind == MPI_CART && context->own.Cartdim_get(comm, &n) == MPI_SUCCESS) return {2 * n, 2 * n};
  if (kind == MPI_DIST_GRAPH) context->own.Dist_graph_neighbors_count(comm, &found.in, &found.out, &weighted);
  if (kind == MPI_GRAPH && context->own.Comm_rank(comm, &rank) == MPI_SUCCESS &&
      context->own.Graph_neighbors_count(comm, rank, &n) == MPI_SUCCESS)
    return {n, n};
  return found;
}

int large_pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size) {
  int of_one = 0;
  const int judged = context->next.MPI_Pack_size(incount < 0 ? -1 : 1, datatype, comm, size ? &of_one : nullptr);
  MPI_Count each = 0;
  if (judged != MPI_SUCCESS || !size || context->own.Type_size_x(datatype, &each) != MPI_SUCCESS) return judged;
  MPI_Count all = 0;
  if (__builtin_mul_overflow(incount, each, &all)) return too_large(comm);
  *size = all;
  return MPI_SUCCESS;
}

int too_large(MPI_Comm comm) {
  return raise(comm, MPI_ERR_ARG);
}

void keep_arrays(MPI_Request request, bool persistent, std::vector<Narrowed> arrays) {
  auto kept = std::make_shared<std::vector<Narrowed>>(std::move(arrays));
  if (auto* known = context->operations.find(key_of(request)); known && known->copies) {  // just begun, and ours already
    known->kept = std::move(kept);
    return;
  }
  auto operation = std::make_unique<engine::Operation>();
  operation->kind = OperationKind::memory;
  operation->persistent = persistent;
  operation->kept = std::move(kept);
  attach(request, std::move(operation));
}

}  // namespace dunnage::calls
