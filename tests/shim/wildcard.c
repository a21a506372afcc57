/* A master that takes whatever comes, from workers that are at MPI_Finalize by then: it must get
   what they sent. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank > 0) {
    if (rank == 2) usleep(500000);
    MPI_Send("hello", 6, MPI_BYTE, 0, rank, MPI_COMM_WORLD);
  }
  for (int i = 1; rank == 0 && i < ranks; ++i) {
    char text[4096];
    int bytes;
    MPI_Status status;
    MPI_Recv(text, sizeof text, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    wrong += bytes != 6 || status.MPI_TAG != status.MPI_SOURCE;
  }
  if (rank == 0) printf("%d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
