#pragma once

#include "layout.hpp"

/// The access patterns of DDTBench: T. Schneider, R. Gerstenberger, T. Hoefler, "Micro-Applications
/// for Communication Data Access Patterns and MPI Datatypes", EuroMPI 2012. The shapes and the
/// constructors of datatypes are the paper's. The grids are sized so that one variant of each has
/// at least 1 MiB of payload, and one has 4 to 64 KiB.
namespace bench {

/// Extents in x (contiguous), k (vertical) and j, WRF's order in memory.
struct WrfExtent {
  int x, k, j;
};
/// Halo of four 2-D, three 3-D and two 4-D float fields: a struct of subarrays.
Layout wrf_halo(WrfExtent grid, WrfExtent start, WrfExtent halo);

/// The z face of a lattice of su3 vectors (6 floats), stored with the even sites before the odd
/// ones.
Layout milc_su3_z(int x, int y, int z, int t);

/// Faces of NAS LU's array of 5 doubles per point, n2 x n3 points and a halo.
Layout nas_lu_x(int n2, int n3);
Layout nas_lu_y(int n2, int n3);

/// Interior of the faces of NAS MG's n1 x n2 x n3 doubles.
Layout nas_mg_x(int n1, int n2, int n3);
Layout nas_mg_y(int n1, int n2, int n3);
Layout nas_mg_z(int n1, int n2, int n3);

/// What one of `processes` processes receives in the transpose of an n x n complex matrix.
Layout fft2_transpose(int n, int processes);

/// Atoms of a list, from fields of 3, 1, 1 and 1 doubles (atomic), and two more fields of 1 double
/// (full).
Layout lammps_atomic(int atoms, int sent);
Layout lammps_full(int atoms, int sent);

/// Points of a list. Each has one float (outer core), or 3 floats from two fields (crust-mantle and
/// inner core).
Layout specfem3d_oc(int points, int sent);
Layout specfem3d_cm(int crust_points, int crust_sent, int core_points, int core_sent);
/// Every second group of 3 floats.
Layout specfem3d_mt(int groups);

}  // namespace bench
