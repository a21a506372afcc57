// The datatype constructors as expressions: each returns a new, uncommitted type. `owned` frees the
// inner type once the outer one is made, as programs do.
#pragma once

#include <mpi.h>

#include <vector>

using Ints = std::vector<int>;
using Aints = std::vector<MPI_Aint>;
using Types = std::vector<MPI_Datatype>;

namespace make {

inline MPI_Datatype contiguous(int n, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_contiguous(n, old, &t);
  return t;
}
inline MPI_Datatype vector(int n, int block, int stride, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_vector(n, block, stride, old, &t);
  return t;
}
inline MPI_Datatype hvector(int n, int block, MPI_Aint stride, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_hvector(n, block, stride, old, &t);
  return t;
}
inline MPI_Datatype indexed(const Ints& blocks, const Ints& disps, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_indexed(int(blocks.size()), blocks.data(), disps.data(), old, &t);
  return t;
}
inline MPI_Datatype hindexed(const Ints& blocks, const Aints& disps, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_hindexed(int(blocks.size()), blocks.data(), disps.data(), old, &t);
  return t;
}
inline MPI_Datatype indexed_block(int block, const Ints& disps, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_indexed_block(int(disps.size()), block, disps.data(), old, &t);
  return t;
}
inline MPI_Datatype hindexed_block(int block, const Aints& disps, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_hindexed_block(int(disps.size()), block, disps.data(), old, &t);
  return t;
}
inline MPI_Datatype structure(const Ints& blocks, const Aints& disps, const Types& olds) {
  MPI_Datatype t;
  MPI_Type_create_struct(int(blocks.size()), blocks.data(), disps.data(), olds.data(), &t);
  return t;
}
inline MPI_Datatype subarray(const Ints& sizes, const Ints& sub, const Ints& starts, int order, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_subarray(int(sizes.size()), sizes.data(), sub.data(), starts.data(), order, old, &t);
  return t;
}
inline MPI_Datatype darray(int size, int rank, const Ints& sizes, const Ints& distribs, const Ints& args,
                           const Ints& procs, int order, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_darray(size, rank, int(sizes.size()), sizes.data(), distribs.data(), args.data(), procs.data(), order,
                         old, &t);
  return t;
}
inline MPI_Datatype resized(MPI_Aint lb, MPI_Aint extent, MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_create_resized(old, lb, extent, &t);
  return t;
}
inline MPI_Datatype duplicate(MPI_Datatype old) {
  MPI_Datatype t;
  MPI_Type_dup(old, &t);
  return t;
}

// owned(inner, [](MPI_Datatype t) { return vector(2, 1, 3, t); })
template <class Outer>
MPI_Datatype owned(MPI_Datatype inner, Outer outer) {
  const MPI_Datatype t = outer(inner);
  MPI_Type_free(&inner);
  return t;
}

}  // namespace make
