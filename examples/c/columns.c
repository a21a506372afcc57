/* The exchange of ghost columns, as programs on a two-dimensional grid do it. The ranks stand side
   by side in a ring. Each has a matrix of doubles, stored row by row, and sends its two outermost
   columns on each side to the neighbour there. Such columns are not contiguous: MPI_Type_vector
   describes them. Every ghost cell is checked.

   Call: columns ROWS... For each number of rows it prints a line: bytes of a message, microseconds
   of an exchange. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { GHOST = 2, INNER = 60, WIDTH = INNER + 2 * GHOST };

static int rank, ranks, rows;
static double* cell;

static double value(int of_rank, int row, int column, int round) {
  return ((double)round * ranks + of_rank) * 4e6 + row * 64.0 + column;
}

static void fill(int round) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < WIDTH; ++column)
      cell[(size_t)row * WIDTH + column] =
          column < GHOST || column >= WIDTH - GHOST ? -1 : value(rank, row, column - GHOST, round);
}

/* Cells that are not what they should be after an exchange. */
static long wrong_cells(int round) {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  long wrong = 0;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < WIDTH; ++column) {
      double expected;
      if (column < GHOST)
        expected = value(left, row, INNER - GHOST + column, round);
      else if (column >= WIDTH - GHOST)
        expected = value(right, row, column - (WIDTH - GHOST), round);
      else
        expected = value(rank, row, column - GHOST, round);
      wrong += cell[(size_t)row * WIDTH + column] != expected;
    }
  return wrong;
}

static void exchange(MPI_Datatype two_columns) {
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Request request[4];
  MPI_Irecv(cell, 1, two_columns, left, 0, MPI_COMM_WORLD, &request[0]);
  MPI_Irecv(cell + WIDTH - GHOST, 1, two_columns, right, 1, MPI_COMM_WORLD, &request[1]);
  MPI_Isend(cell + INNER, 1, two_columns, right, 0, MPI_COMM_WORLD, &request[2]);
  MPI_Isend(cell + GHOST, 1, two_columns, left, 1, MPI_COMM_WORLD, &request[3]);
  MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median time of an exchange in seconds, that of the slowest rank each time. Adds wrong cells
   to `wrong`. */
static double measure(long* wrong) {
  /* Dunnage finds out in a program's first exchanges who packs faster, itself or the MPI. A program
     does many more, so the median shall be of one after that. */
  enum { WARM = 5, MOST = 100 };
  const double budget = 0.25; /* seconds */
  double seconds[MOST];
  MPI_Datatype two_columns;
  MPI_Type_vector(rows, GHOST, WIDTH, MPI_DOUBLE, &two_columns);
  MPI_Type_commit(&two_columns);
  fill(1);
  exchange(two_columns);
  *wrong += wrong_cells(1);
  fill(2);
  for (int i = 0; i < WARM; ++i) exchange(two_columns);
  int n = 0;
  double total = 0;
  while (n < MOST && (n < 3 || total < budget)) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    exchange(two_columns);
    const double mine = MPI_Wtime() - start;
    MPI_Allreduce(&mine, &seconds[n], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    total += seconds[n++];
  }
  *wrong += wrong_cells(2);
  MPI_Type_free(&two_columns);
  qsort(seconds, n, sizeof *seconds, by_size);
  return seconds[n / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long all_wrong = 0;
  for (int i = 1; i < argc; ++i) {
    rows = atoi(argv[i]);
    cell = rows > 0 && rows <= 1 << 20 ? malloc(sizeof(double) * WIDTH * rows) : NULL;
    if (!cell) {
      fprintf(stderr, "columns: %s rows are too many, or none\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long mine = 0, wrong;
    const double seconds = measure(&mine);
    MPI_Allreduce(&mine, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
      printf("columns: %d bytes, %.2f us, %s\n", rows * GHOST * (int)sizeof(double), 1e6 * seconds,
             wrong ? "WRONG" : "verified");
    all_wrong += wrong;
    free(cell);
  }
  MPI_Finalize();
  return all_wrong != 0;
}
