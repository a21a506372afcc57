#include "calls/communicators.hpp"

#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "calls/attribute.hpp"
#include "calls/context.hpp"

namespace dunnage::calls {
namespace {

using Ranks = std::vector<int>;  // in MPI_COMM_WORLD, by rank

Attribute<Ranks> known;

bool translate(MPI_Comm comm, Ranks& ranks) {
  const auto& own = context->own;
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
  if (comm == MPI_COMM_NULL) return -1;
  Ranks* ranks = nullptr;
  if (!known.find(comm, ranks)) return -1;
  if (!ranks) {
    // Two threads may both get here; the MPI frees the ranks that it replaces, which nobody may be reading.
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

void forget_communicators() { known.end(); }

}  // namespace dunnage::calls
