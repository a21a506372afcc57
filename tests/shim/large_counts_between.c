/* Large-count collectives of two ranks on an MPI without them, with arguments that one side may not
   look at. */
#include <mpi.h>
#include <stdio.h>

int MPI_Gatherv_c(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count[], const MPI_Aint[], MPI_Datatype, int,
                  MPI_Comm) __attribute__((weak));
int MPI_Neighbor_allgatherv_c(const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count[], const MPI_Aint[],
                              MPI_Datatype, MPI_Comm) __attribute__((weak));
int MPI_Ialltoallv_c(const void*, const MPI_Count[], const MPI_Aint[], MPI_Datatype, void*, const MPI_Count[],
                     const MPI_Aint[], MPI_Datatype, MPI_Comm, MPI_Request*) __attribute__((weak));
int MPI_Pack_size_c(MPI_Count, MPI_Datatype, MPI_Comm, MPI_Count*) __attribute__((weak));
int MPI_Pack_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm) __attribute__((weak));

static int failed;
static void check(int ok, const char* what) {
  if (ok) return;
  ++failed;
  printf("FAIL %s\n", what);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const MPI_Count one[2] = {1, 1};
  const MPI_Aint places[2] = {0, 1};
  int mine = 42 + rank, got = -1;

  if (MPI_Gatherv_c) {
    MPI_Comm alone, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Intercomm_create(alone, 0, MPI_COMM_WORLD, 1 - rank, 3, &between);
    if (rank == 0)
      MPI_Gatherv_c(NULL, 0, MPI_INT, &got, one, places, MPI_INT, MPI_ROOT, between);
    else /* the rank of the root's number, but on the other side */
      MPI_Gatherv_c(&mine, 1, MPI_INT, NULL, (const MPI_Count*)8, (const MPI_Aint*)8, MPI_INT, 0, between);
    check(got == (rank == 0 ? 43 : -1), "Gatherv_c between groups");
    MPI_Comm_free(&between);
    MPI_Comm_free(&alone);
  }
  if (MPI_Neighbor_allgatherv_c) { /* one edge, from 0 to 1 */
    MPI_Comm graph;
    const int zero[1] = {0}, first[1] = {1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, zero, MPI_UNWEIGHTED, 1 - rank, first, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    got = -1;
    check(MPI_Neighbor_allgatherv_c(&mine, 1, MPI_INT, &got, one, places, MPI_INT, graph) == MPI_SUCCESS,
          "Neighbor_allgatherv_c with no neighbour");
    check(got == (rank == 1 ? 42 : -1), "Neighbor_allgatherv_c");
    MPI_Comm_free(&graph);
  }
  if (MPI_Ialltoallv_c) {
    int from[2] = {10 * rank, 10 * rank + 1}, to[2] = {-1, -1};
    MPI_Request request;
    MPI_Ialltoallv_c(from, one, places, MPI_INT, to, one, places, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(to[0] == rank && to[1] == 10 + rank, "Ialltoallv_c");
    const MPI_Aint far[2] = {0, (MPI_Aint)1 << 40};
    check(MPI_VERSION >= 4 || MPI_Ialltoallv_c(from, one, far, MPI_INT, to, one, places, MPI_INT, MPI_COMM_WORLD,
                                               &request) != MPI_SUCCESS,
          "a displacement that no int holds");
  }
  if (MPI_Pack_size_c && MPI_Pack_c) {
    MPI_Count size = -1, position = 3000000000;
    char packed[8];
    check(MPI_Pack_size_c(400000000, MPI_DOUBLE, MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == 3200000000,
          "Pack_size_c");
    check(MPI_Pack_c(&mine, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD) != MPI_SUCCESS &&
              position == 3000000000,
          "Pack_c past the end");
    position = 0;
    check(MPI_Pack_c(&mine, 1, MPI_INT, packed, 5000000000, &position, MPI_COMM_WORLD) == MPI_SUCCESS && position == 4,
          "Pack_c into a large buffer");
  }
  printf("%d failed\n", failed);
  MPI_Finalize();
  return failed != 0;
}
