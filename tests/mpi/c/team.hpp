// A communicator with the world's ranks in it, on one side or on two.
#pragma once

#include "contract.hpp"
#include "make.hpp"

struct Team {
  MPI_Comm comm;
  std::string name;
  Ints local, remote;  // ranks in the world: mine and my partners'; the same on an intracommunicator
  bool inter = false;
  int rank = 0;  // in `local`

  int peers() const { return int(remote.size()); }
  Ints everyone() const {
    Ints all = local;
    if (inter) all.insert(all.end(), remote.begin(), remote.end());
    std::sort(all.begin(), all.end());
    return all;
  }
};

// How the calling process takes part in a rooted collective. Each has a communicator of its own: in
// Open MPI 4.1 those beside the root of an intercommunicator do not count a nonblocking call, and
// on the same communicator the next one would not match.
struct Root {
  int world;     // who it is
  int argument;  // what to pass for it
  MPI_Comm comm;
  bool is_me = false;
  bool takes_part = true;  // false: beside the root of an intercommunicator

  Root(const Team& team, int root) : world(root), is_me(root == contract().rank) {
    const auto place = std::find(team.remote.begin(), team.remote.end(), root);
    if (place != team.remote.end()) {
      argument = int(place - team.remote.begin());
    } else {
      argument = is_me ? MPI_ROOT : MPI_PROC_NULL;
      takes_part = is_me;
    }
    PMPI_Comm_dup(team.comm, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~Root() { PMPI_Comm_free(&comm); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  std::string name() const { return ", root " + std::to_string(world); }
};

inline Team everyone_together() {
  Team team{MPI_COMM_NULL, "intra", {}, {}, false, contract().rank};
  PMPI_Comm_dup(MPI_COMM_WORLD, &team.comm);
  PMPI_Comm_set_errhandler(team.comm, MPI_ERRORS_RETURN);
  for (int r = 0; r < contract().ranks; ++r) team.local.push_back(r);
  team.remote = team.local;
  return team;
}

// The lower half and the upper half; needs two ranks.
inline Team two_sides() {
  const int half = contract().ranks / 2;
  const bool low = contract().rank < half;
  Team team{MPI_COMM_NULL, "inter", {}, {}, true, low ? contract().rank : contract().rank - half};
  for (int r = 0; r < contract().ranks; ++r) ((r < half) == low ? team.local : team.remote).push_back(r);
  MPI_Comm side;
  PMPI_Comm_split(MPI_COMM_WORLD, low, contract().rank, &side);
  PMPI_Intercomm_create(side, 0, MPI_COMM_WORLD, low ? half : 0, 5, &team.comm);
  PMPI_Comm_set_errhandler(team.comm, MPI_ERRORS_RETURN);
  PMPI_Comm_free(&side);
  return team;
}
