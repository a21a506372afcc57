/* Stands in for a library that breaks programs: the first byte of a message of three predefined
   elements or more is another, and MPI_Waitall conceals errors. */
#include <mpi.h>

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const int code = PMPI_Recv(buffer, count, type, source, tag, comm, status);
  int integers, addresses, types, combiner = MPI_COMBINER_NAMED;
  if (code != MPI_SUCCESS || source == MPI_PROC_NULL || !buffer || count < 3) return code;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) ((unsigned char*)buffer)[0] ^= 1;
  return code;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  PMPI_Waitall(count, requests, statuses);
  return MPI_SUCCESS;
}
