#include "mpi/process/communicators.hpp"

#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "mpi/process/attribute.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {
namespace {

using Ranks = std::vector<int>;  // in MPI_COMM_WORLD, by rank

Attribute<Ranks> known;

bool translate(MPI_Comm comm, Ranks& ranks) {
  const auto& own = process->own;
  int between = 0, size = 0;
  if (own.Comm_test_inter(comm, &between) != MPI_SUCCESS || between) return false;
  MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  if (own.Comm_group(comm, &here) != MPI_SUCCESS) return false;
  bool done = own.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS && own.Group_size(here, &size) == MPI_SUCCESS;
  if (done) {
    Ranks all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    ranks.resize(all.size());
    done = own.Group_translate_ranks(here, size, all.data(), world, ranks.data()) == MPI_SUCCESS;
    for (auto& rank : ranks)
      if (rank == MPI_UNDEFINED) rank = -1;
  }
  own.Group_free(&here);
  if (world != MPI_GROUP_NULL) own.Group_free(&world);
  return done;
}

}  // namespace

int world_rank(MPI_Comm comm, int rank) {
  if (comm == MPI_COMM_WORLD) return rank;
  if (comm == MPI_COMM_SELF) return rank == 0 ? process->rank : -1;
  if (comm == MPI_COMM_NULL) return -1;
  Ranks* ranks = nullptr;
  if (!known.find(comm, ranks)) return -1;
  if (!ranks) {
    // A program of sessions has no MPI_COMM_WORLD. What is found out later is remembered then.
    if (!process->initialized.load(std::memory_order_relaxed)) return -1;
    // Two threads may both get here; the MPI frees the ranks that it replaces, which nobody may be
    // reading.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (!known.find(comm, ranks)) return -1;
    if (!ranks) {
      auto fresh = std::make_unique<Ranks>();
      if (!translate(comm, *fresh)) fresh->clear();
      ranks = known.put(comm, std::move(fresh));
      if (!ranks) return -1;
    }
  }
  return rank >= 0 && static_cast<std::size_t>(rank) < ranks->size() ? (*ranks)[static_cast<std::size_t>(rank)] : -1;
}

int members(MPI_Comm comm) {
  int size = 0;
  return process->own.Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

int peers(MPI_Comm comm) {
  int between = 0, size = 0;
  if (process->own.Comm_test_inter(comm, &between) != MPI_SUCCESS || !between) return members(comm);
  return process->own.Comm_remote_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

int peers_at_root(int root, MPI_Comm comm) {
  int rank = MPI_PROC_NULL, between = 0;
  if (process->own.Comm_test_inter(comm, &between) != MPI_SUCCESS) return 0;
  if (between) return root == MPI_ROOT ? peers(comm) : 0;
  return process->own.Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root ? peers(comm) : 0;
}

namespace {

/// Whether the MPI finds neighbours of a distributed graph there. No error handler is called.
bool has_distributed_graph(MPI_Comm comm) {
  const auto& own = process->own;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (own.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  own.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int in = 0, out = 0, weighted = 0;
  const bool found = own.Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS;
  own.Comm_set_errhandler(comm, handler);
  own.Errhandler_free(&handler);
  return found;
}

}  // namespace

int topology(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  process->own.Topo_test(comm, &kind);
  const bool doubtful = kind == MPI_CART && process->behaviour.takes_graphs_for_cartesian;
  return doubtful && has_distributed_graph(comm) ? MPI_DIST_GRAPH : kind;
}

bool all_agree(MPI_Comm comm, bool here) {
  const int mine = here;
  int everywhere = 0;
  return process->own.Allreduce(&mine, &everywhere, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && everywhere;
}

Neighbours neighbours(MPI_Comm comm) {
  const int kind = topology(comm);
  int n = 0, rank = 0, weighted = 0;
  Neighbours found{0, 0};
  if (kind == MPI_CART && process->own.Cartdim_get(comm, &n) == MPI_SUCCESS) return {2 * n, 2 * n};
  if (kind == MPI_DIST_GRAPH) process->own.Dist_graph_neighbors_count(comm, &found.in, &found.out, &weighted);
  if (kind == MPI_GRAPH && process->own.Comm_rank(comm, &rank) == MPI_SUCCESS &&
      process->own.Graph_neighbors_count(comm, rank, &n) == MPI_SUCCESS)
    return {n, n};
  return found;
}

}  // namespace dunnage::mpi
