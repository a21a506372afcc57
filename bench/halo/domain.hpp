// The part of a periodic grid that a rank has, and what its ghost cells need from others.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench::halo {

using Triple = std::array<int, 3>;  // x, y, z; x is the fastest in memory

/// Cells of one variable, ghost cells included in the count of places.
struct Box {
  Triple begin, length;
  std::int64_t cells() const { return std::int64_t{length[0]} * length[1] * length[2]; }
};

/// What goes to the neighbour in one direction, and what comes from there.
struct Region {
  Triple direction;
  int peer;
  int send_tag, receive_tag;
  Box inner, ghost;  // the cells that go, and the ghost cells that come
};

/// A cube of cells with ghost cells around it, for each variable, one after the other in memory.
class Domain {
 public:
  /// Collective. `comm` is Cartesian and periodic in three dimensions.
  Domain(MPI_Comm comm, Where where, int cells, int ghost, int variables);

  MPI_Comm comm() const { return comm_; }
  int variables() const { return variables_; }
  Triple sides() const { return {side_, side_, side_}; }
  std::int64_t variable_bytes() const { return std::int64_t{side_} * side_ * side_ * std::int64_t{sizeof(double)}; }
  std::size_t bytes() const { return static_cast<std::size_t>(variable_bytes() * variables_); }
  Place place() const { return memory_.place(); }
  double* at(int variable, const Triple& cell) const {
    return reinterpret_cast<double*>(memory_.place().at + variable * variable_bytes()) +
           (std::int64_t{cell[2]} * side_ + cell[1]) * side_ + cell[0];
  }

  /// The 26 neighbours.
  const std::vector<Region>& regions() const { return regions_; }
  /// The six faces, in the order x, y, z. Along the dimensions before its own a face has its ghost
  /// cells too, so that edges and corners come by way of neighbours.
  const std::vector<Region>& faces() const { return faces_; }
  /// The bytes of all variables that come to the ghost cells in one exchange of all regions.
  std::int64_t exchanged_bytes() const;

  /// Writes the cells' values; ghost cells get others.
  void fill(int round);
  /// Returns how many cells are not what fill(round) and an exchange make them.
  std::int64_t wrong(int round);

 private:
  Region region(const Triple& direction, int with_ghosts) const;
  template <class F>
  void each(F&& f);
  double value(int variable, const Triple& cell, int round) const;

  MPI_Comm comm_;
  int cells_, ghost_, side_, variables_;
  Triple ranks_{}, here_{};
  Memory memory_;
  std::vector<double> image_;
  std::vector<Region> regions_, faces_;
};

/// Returns a committed type of a box of one variable, or of all variables.
MPI_Datatype type_of(const Domain& domain, const Box& box, bool all_variables);

}  // namespace bench::halo
