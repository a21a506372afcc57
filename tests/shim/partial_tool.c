/* A profiling tool as small as they come: it counts completing calls and goes on to the MPI. That
   it wraps these and not the calls that start an operation is what makes it a test: an operation
   begins in one library and ends in another. */
#include <mpi.h>
#include <stdio.h>

static int waits, frees;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
  return PMPI_Wait(request, status);
}

int MPI_Type_free(MPI_Datatype* type) {
  ++frees;
  return PMPI_Type_free(type);
}

int MPI_Finalize(void) {
  fprintf(stderr, "tool: %d waits, %d frees\n", waits, frees);
  return PMPI_Finalize();
}
