#include "mpi/neighbours/neighbourhood.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/ways/own_message.hpp"

namespace dunnage::mpi {
namespace {

Attribute<Neighbourhood> neighbourhoods;

/// MPI 4.1, section 8.6: along each dimension first the neighbour below, then the one above. What
/// goes down in dimension d has the tag 2d, what goes up 2d + 1. So rings of one and two ranks work
/// too, on which both neighbours are one rank.
bool cartesian(MPI_Comm comm, Neighbourhood& hood) {
  int dimensions = 0;
  if (process->own.Cartdim_get(comm, &dimensions) != MPI_SUCCESS) return false;
  hood.tags = std::max(1, 2 * dimensions);
  for (int d = 0; d < dimensions; ++d) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    if (process->own.Cart_shift(comm, d, 1, &below, &above) != MPI_SUCCESS) return false;
    const int down = 2 * d, up = 2 * d + 1;
    hood.targets.push_back({below, down});
    hood.targets.push_back({above, up});
    hood.sources.push_back({below, up});
    hood.sources.push_back({above, down});
  }
  return true;
}

/// The tag counts the edges between two ranks, which both ranks have in one order (MPI 4.1, section
/// 8.6).
void take(Neighbourhood& hood, std::vector<Edge>& edges, const std::vector<int>& peers) {
  std::map<int, int> count;
  for (const int peer : peers) edges.push_back({peer, count[peer]++});
  for (const auto& [peer, n] : count) hood.tags = std::max(hood.tags, n);
}

bool graph(MPI_Comm comm, Neighbourhood& hood) {
  int rank = 0, count = 0;
  const auto& own = process->own;
  if (own.Comm_rank(comm, &rank) != MPI_SUCCESS || own.Graph_neighbors_count(comm, rank, &count) != MPI_SUCCESS)
    return false;
  std::vector<int> peers(static_cast<std::size_t>(count));
  if (own.Graph_neighbors(comm, rank, count, peers.data()) != MPI_SUCCESS) return false;
  take(hood, hood.sources, peers);
  take(hood, hood.targets, peers);
  return true;
}

bool distributed_graph(MPI_Comm comm, Neighbourhood& hood) {
  int in = 0, out = 0, weighted = 0;
  const auto& own = process->own;
  if (own.Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS) return false;
  std::vector<int> sources(static_cast<std::size_t>(in)), targets(static_cast<std::size_t>(out));
  auto in_weights = sources, out_weights = targets;
  if (own.Dist_graph_neighbors(comm, in, sources.data(), in_weights.data(), out, targets.data(), out_weights.data()) !=
      MPI_SUCCESS)
    return false;
  take(hood, hood.sources, sources);
  take(hood, hood.targets, targets);
  return true;
}

bool read_topology(MPI_Comm comm, Neighbourhood& hood) {
  const int kind = topology(comm);
  return kind == MPI_CART         ? cartesian(comm, hood)
         : kind == MPI_GRAPH      ? graph(comm, hood)
         : kind == MPI_DIST_GRAPH ? distributed_graph(comm, hood)
                                  : false;
}

}  // namespace

bool all_in_this_world(MPI_Comm comm) {
  const int count = members(comm);
  for (int rank = 0; rank < count; ++rank)
    if (world_rank(comm, rank) < 0) return false;
  return count > 0;
}

std::map<int, std::vector<std::size_t>> by_peer(const std::vector<Edge>& edges, int self) {
  std::map<int, std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i].peer >= 0 && edges[i].peer != self) all[edges[i].peer].push_back(i);
  for (auto& [peer, places] : all)
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return edges[a].tag < edges[b].tag; });
  return all;
}

/// The first edge to this rank itself with a tag brings what the first from it with that tag takes,
/// and so on.
void pair_loops(MPI_Comm comm, Neighbourhood& hood) {
  int me = MPI_PROC_NULL;
  if (process->own.Comm_rank(comm, &me) != MPI_SUCCESS) return;
  std::map<int, std::vector<std::size_t>> targets;  // by tag, the last first
  for (std::size_t i = hood.targets.size(); i-- > 0;)
    if (hood.targets[i].peer == me) targets[hood.targets[i].tag].push_back(i);
  for (std::size_t i = 0; i < hood.sources.size(); ++i) {
    auto& same_tag = targets[hood.sources[i].tag];
    if (hood.sources[i].peer != me || same_tag.empty()) continue;
    hood.loops.push_back({same_tag.back(), i});
    same_tag.pop_back();
  }
}

MessageComm::~MessageComm() {
  if (!process->initialized.load(std::memory_order_relaxed)) return;
  if (owned_) {
    process->own.Comm_free(&comm);
    return;
  }
  if (comm != private_world()) return;  // it has been freed
  for (const int peer : ranks_) {       // nobody uses the tags again
    end_own_sends({peer, tag_, few_tags, comm});
    end_own_receives({peer, tag_, few_tags, comm});
  }
}

Neighbourhood::~Neighbourhood() { orphaned->store(true, std::memory_order_relaxed); }

int Neighbourhood::next_tags() {
  constexpr int least_tag_ub = 32767;  // MPI 4.1, section 9.1.2
  *operations = *operations < least_tag_ub / tags - 1 ? *operations + 1 : 1;
  return *operations * tags;
}

Neighbourhood* neighbourhood(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  Neighbourhood* hood = nullptr;
  if (!neighbourhoods.find(comm, hood) || hood) return hood;
  auto fresh = std::make_unique<Neighbourhood>();
  fresh->possible = read_topology(comm, *fresh) && all_in_this_world(comm);
  pair_loops(comm, *fresh);
  return neighbourhoods.put(comm, std::move(fresh));
}

std::shared_ptr<MessageComm> split_message_comm(Neighbourhood& hood, MPI_Comm comm) {
  const auto& own = process->own;
  int rank = 0;
  // Split, because a duplicate would run the callbacks of the program's attributes.
  MPI_Comm fresh = MPI_COMM_NULL;
  const int made = own.Comm_rank(comm, &rank) == MPI_SUCCESS && own.Comm_split(comm, 0, rank, &fresh) == MPI_SUCCESS &&
                   own.Comm_set_errhandler(fresh, MPI_ERRORS_RETURN) == MPI_SUCCESS;
  // The most tags of any rank: the least of their negatives.
  const int here[] = {made, -hood.tags};
  int everywhere[] = {0, 0};
  if (own.Allreduce(here, everywhere, 2, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !everywhere[0]) {
    if (fresh != MPI_COMM_NULL) own.Comm_free(&fresh);
    return nullptr;
  }
  hood.tags = -everywhere[1];
  return std::make_shared<MessageComm>(fresh, rank);
}

Turn next_turn(Neighbourhood& hood) {
  if (!hood.possible) return Turn::theirs;
  if (hood.messages) return Turn::ours;
  if (std::has_single_bit(++hood.calls)) return Turn::asked;
  return hood.by_rings.value_or(false) ? Turn::ours : Turn::theirs;
}

}  // namespace dunnage::mpi
