/* Sends a column of a matrix to the next rank, three times, and checks what arrives. */
#include <mpi.h>
#include <stdio.h>

enum { rows = 64, columns = 8 };

int main(int argc, char** argv) {
  double matrix[rows][columns], column[rows];
  int rank, ranks, wrong = 0;
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) matrix[i][j] = rank * 1000 + i * columns + j;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  for (int round = 0; round < 3; ++round) {
    if (rank % 2 == 0 && rank + 1 < ranks) MPI_Send(matrix, 1, type, rank + 1, 0, MPI_COMM_WORLD);
    if (rank % 2 == 1) {
      MPI_Recv(column, rows, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < rows; ++i) wrong += column[i] != (rank - 1) * 1000 + i * columns;
    }
  }
  MPI_Type_free(&type);
  printf("rank %d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}
