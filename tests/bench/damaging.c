/* Stands in for Dunnage and damages the last double of every message that it receives. */
#include <mpi.h>

const char* dunnage_version(void) { return "damaging"; }

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Aint lb, extent;
  const int result = PMPI_Recv(buffer, count, type, source, tag, comm, status);
  PMPI_Type_get_extent(type, &lb, &extent);
  if (count > 0)
    ((char*)buffer)[count * extent - sizeof(double)] ^= 1; /* of the last double, which all types end with */
  return result;
}
