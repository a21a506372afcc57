#include "mpi/neighbours/edges.hpp"

#include "mpi/process/types.hpp"

namespace dunnage::mpi {

MPI_Aint extent_of(MPI_Datatype type) {
  // Contiguous elements have no gaps. Of elements without data the extent may be any.
  if (const auto* known = known_type(type); known && known->reason() == plan::Reason::contiguous && known->bytes() > 0)
    return static_cast<MPI_Aint>(known->bytes());
  MPI_Count begin = 0, extent = 0;
  if (type == MPI_DATATYPE_NULL || process->own.Type_get_extent_x(type, &begin, &extent) != MPI_SUCCESS) return 0;
  return static_cast<MPI_Aint>(extent);
}

bool gathers(Hook hook) {
  switch (hook) {
    case Hook::MPI_Neighbor_allgather:
    case Hook::MPI_Neighbor_allgather_c:
    case Hook::MPI_Ineighbor_allgather:
    case Hook::MPI_Ineighbor_allgather_c:
    case Hook::MPI_Neighbor_allgather_init:
    case Hook::MPI_Neighbor_allgather_init_c:
    case Hook::MPI_Allgather:
    case Hook::MPI_Allgather_c:
    case Hook::MPI_Iallgather:
    case Hook::MPI_Iallgather_c:
    case Hook::MPI_Allgather_init:
    case Hook::MPI_Allgather_init_c:
    case Hook::MPI_Allgatherv:
    case Hook::MPI_Allgatherv_c:
    case Hook::MPI_Iallgatherv:
    case Hook::MPI_Iallgatherv_c:
    case Hook::MPI_Allgatherv_init:
    case Hook::MPI_Allgatherv_init_c:
    case Hook::MPI_Gather:
    case Hook::MPI_Gather_c:
    case Hook::MPI_Igather:
    case Hook::MPI_Igather_c:
    case Hook::MPI_Gather_init:
    case Hook::MPI_Gather_init_c:
    case Hook::MPI_Gatherv:
    case Hook::MPI_Gatherv_c:
    case Hook::MPI_Igatherv:
    case Hook::MPI_Igatherv_c:
    case Hook::MPI_Gatherv_init:
    case Hook::MPI_Gatherv_init_c: return true;
    default: return false;
  }
}

}  // namespace dunnage::mpi
