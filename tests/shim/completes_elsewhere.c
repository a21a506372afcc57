/* An operation that is started as MPI_Irecv and completed through PMPI_Wait, by the program or by a
   tool; types that are freed that way, so that their handles come again. Sends to itself. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { blocks = 4000, rounds = 4 };
static double out[2 * blocks], in[2 * blocks];

static int round_trip(int stride, int (*wait)(MPI_Request*, MPI_Status*), int (*free_type)(MPI_Datatype*)) {
  const int n = 2 * blocks / stride;
  MPI_Datatype column;
  MPI_Type_vector(n, 1, stride, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  memset(in, 0, sizeof in);
  MPI_Request receive, send;
  MPI_Irecv(in, 1, column, 0, 1, MPI_COMM_WORLD, &receive);
  MPI_Isend(out, 1, column, 0, 1, MPI_COMM_WORLD, &send);
  MPI_Status status;
  wait(&receive, &status);
  wait(&send, MPI_STATUS_IGNORE);
  int wrong = 0;
  for (int i = 0; i < 2 * blocks; ++i) wrong += in[i] != (i % stride == 0 && i / stride < n ? out[i] : 0);
  free_type(&column);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int wrong = 0;
  for (int i = 0; i < 2 * blocks; ++i) out[i] = i + 1;
  for (int round = 0; round < rounds; ++round) {
    wrong += round_trip(2 + round, MPI_Wait, MPI_Type_free);
    wrong += round_trip(3 + round, PMPI_Wait, PMPI_Type_free);
  }
  printf("%d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
