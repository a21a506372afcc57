/* A 3-D halo exchange, as MPI programs do it. The ranks form a periodic Cartesian grid. Each has a
   cube of doubles with ghost cells, two deep, around it. MPI_Type_create_subarray describes the
   faces, and MPI_Irecv, MPI_Isend and MPI_Waitall exchange them. Every ghost cell is checked after
   every exchange.

   halo3d [EDGE [ITERATIONS]]      EDGE: cells along each side of a rank's cube (default: 192) */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { GHOST = 2, DIMS = 3, FACES = 2 * DIMS };

struct grid {
  MPI_Comm comm;
  int rank, ranks;
  int shape[DIMS], place[DIMS]; /* the grid of ranks, and the place of this rank in it */
  int edge, side;               /* cells along an edge, without and with ghosts */
  double* cell;
  int neighbour[FACES]; /* face 2d is the lower face in dimension d, face 2d + 1 the upper one */
  MPI_Datatype inner[FACES], ghost[FACES];
};

static double* cell_at(const struct grid* g, int x, int y, int z) {
  return &g->cell[((size_t)x * g->side + y) * g->side + z];
}

/* Returns the content of a cell: its place in the whole periodic domain, and the iteration. */
static double value(const struct grid* g, const int at[DIMS], int iteration) {
  double v = iteration;
  for (int d = 0; d < DIMS; ++d) {
    const int length = g->edge * g->shape[d];
    v = v * 8192 + (g->place[d] * g->edge + at[d] - GHOST + length) % length;
  }
  return v;
}

static MPI_Datatype slab(const struct grid* g, int dimension, int start) {
  int sizes[DIMS], sub[DIMS], starts[DIMS];
  for (int d = 0; d < DIMS; ++d) {
    sizes[d] = g->side;
    sub[d] = d == dimension ? GHOST : g->edge;
    starts[d] = d == dimension ? start : GHOST;
  }
  MPI_Datatype type;
  MPI_Type_create_subarray(DIMS, sizes, sub, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

static void make_grid(struct grid* g, int edge) {
  const int periodic[DIMS] = {1, 1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &g->ranks);
  for (int d = 0; d < DIMS; ++d) g->shape[d] = 0;
  MPI_Dims_create(g->ranks, DIMS, g->shape);
  MPI_Cart_create(MPI_COMM_WORLD, DIMS, g->shape, periodic, 1, &g->comm);
  MPI_Comm_rank(g->comm, &g->rank);
  MPI_Cart_coords(g->comm, g->rank, DIMS, g->place);
  g->edge = edge;
  g->side = edge + 2 * GHOST;
  g->cell = malloc(sizeof(double) * g->side * g->side * g->side);
  if (!g->cell) {
    fprintf(stderr, "halo3d: no memory for a cube of %d cells\n", g->side);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int d = 0; d < DIMS; ++d) {
    MPI_Cart_shift(g->comm, d, 1, &g->neighbour[2 * d], &g->neighbour[2 * d + 1]);
    g->inner[2 * d] = slab(g, d, GHOST);
    g->inner[2 * d + 1] = slab(g, d, edge);
    g->ghost[2 * d] = slab(g, d, 0);
    g->ghost[2 * d + 1] = slab(g, d, edge + GHOST);
  }
}

static void free_grid(struct grid* g) {
  for (int f = 0; f < FACES; ++f) {
    MPI_Type_free(&g->inner[f]);
    MPI_Type_free(&g->ghost[f]);
  }
  MPI_Comm_free(&g->comm);
  free(g->cell);
}

static void exchange(struct grid* g) {
  MPI_Request request[2 * FACES];
  /* The tag is the face as its sender sees it. A rank may be its own neighbour, or one on both
     sides. */
  for (int f = 0; f < FACES; ++f) MPI_Irecv(g->cell, 1, g->ghost[f], g->neighbour[f], f ^ 1, g->comm, &request[f]);
  for (int f = 0; f < FACES; ++f) MPI_Isend(g->cell, 1, g->inner[f], g->neighbour[f], f, g->comm, &request[FACES + f]);
  MPI_Waitall(2 * FACES, request, MPI_STATUSES_IGNORE);
}

/* Returns how many of a cell's coordinates are in the ghost layers. Only faces are exchanged, not
   edges. */
static int ghosts(const struct grid* g, const int at[DIMS]) {
  int n = 0;
  for (int d = 0; d < DIMS; ++d) n += at[d] < GHOST || at[d] >= GHOST + g->edge;
  return n;
}

static void fill(struct grid* g, int iteration) {
  int at[DIMS];
  for (at[0] = 0; at[0] < g->side; ++at[0])
    for (at[1] = 0; at[1] < g->side; ++at[1])
      for (at[2] = 0; at[2] < g->side; ++at[2])
        *cell_at(g, at[0], at[1], at[2]) = ghosts(g, at) ? -1 : value(g, at, iteration);
}

/* Returns the number of wrong cells. Only faces may have changed, and all of them must. */
static long wrong_cells(const struct grid* g, int iteration) {
  long wrong = 0;
  int at[DIMS];
  for (at[0] = 0; at[0] < g->side; ++at[0])
    for (at[1] = 0; at[1] < g->side; ++at[1])
      for (at[2] = 0; at[2] < g->side; ++at[2])
        wrong += *cell_at(g, at[0], at[1], at[2]) != (ghosts(g, at) > 1 ? -1 : value(g, at, iteration));
  return wrong;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int edge = argc > 1 ? atoi(argv[1]) : 192;
  const int iterations = argc > 2 ? atoi(argv[2]) : 10;
  if (edge < GHOST || edge > 2000 || iterations < 1) {
    fprintf(stderr, "usage: halo3d [EDGE (%d to 2000) [ITERATIONS]]\n", GHOST);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  struct grid g;
  make_grid(&g, edge);

  double* seconds = malloc(sizeof(double) * iterations);
  long wrong = 0;
  for (int i = 0; i < iterations; ++i) {
    fill(&g, i);
    MPI_Barrier(g.comm);
    const double start = MPI_Wtime();
    exchange(&g);
    const double mine = MPI_Wtime() - start;
    MPI_Allreduce(&mine, &seconds[i], 1, MPI_DOUBLE, MPI_MAX, g.comm); /* the slowest rank's */
    wrong += wrong_cells(&g, i);
  }
  qsort(seconds, iterations, sizeof(double), by_size);

  long all_wrong;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, g.comm);
  if (g.rank == 0) {
    printf("halo3d: %d ranks, grid %dx%dx%d, cube of %d, time per exchange %.1f us, ", g.ranks, g.shape[0], g.shape[1],
           g.shape[2], edge, 1e6 * seconds[iterations / 2]);
    if (all_wrong)
      printf("WRONG: %ld cells\n", all_wrong);
    else
      printf("verified\n");
  }
  free(seconds);
  free_grid(&g);
  MPI_Finalize();
  return all_wrong != 0;
}
