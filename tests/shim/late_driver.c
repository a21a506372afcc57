/* Nonblocking neighbour collectives on device memory of a program that loads CUDA's driver after it
   has made its communicators. Prints how many values were wrong, and how many were right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include "device/cuda_driver_api.h"

enum { n = 700, edges = 3, most = n * edges };

static CUresult (*to_device)(CUdeviceptr, const void*, size_t), (*to_host)(void*, CUdeviceptr, size_t),
    (*synchronize)(void);

/* Returns two arrays of `most` doubles. */
static int load_driver(CUdeviceptr at[2]) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!cuda) return 0;
  CUresult (*init)(unsigned) = (CUresult(*)(unsigned))dlsym(cuda, "cuInit");
  CUresult (*retain)(CUcontext*, CUdevice) = (CUresult(*)(CUcontext*, CUdevice))dlsym(cuda, "cuDevicePrimaryCtxRetain");
  CUresult (*use)(CUcontext) = (CUresult(*)(CUcontext))dlsym(cuda, "cuCtxSetCurrent");
  CUresult (*alloc)(CUdeviceptr*, size_t) = (CUresult(*)(CUdeviceptr*, size_t))dlsym(cuda, "cuMemAlloc_v2");
  to_device = (CUresult(*)(CUdeviceptr, const void*, size_t))dlsym(cuda, "cuMemcpyHtoD_v2");
  to_host = (CUresult(*)(void*, CUdeviceptr, size_t))dlsym(cuda, "cuMemcpyDtoH_v2");
  synchronize = (CUresult(*)(void))dlsym(cuda, "cuCtxSynchronize");
  CUcontext context;
  return init(0) == CUDA_SUCCESS && retain(&context, 0) == CUDA_SUCCESS && use(context) == CUDA_SUCCESS &&
         alloc(&at[0], most * sizeof(double)) == CUDA_SUCCESS && alloc(&at[1], most * sizeof(double)) == CUDA_SUCCESS;
}

static int wrong, right;

/* Source i of this rank is edge edge_of[i] of rank from[i]. */
static void exchange(MPI_Comm comm, int count, const int* from, const int* edge_of, const CUdeviceptr at[2], int call) {
  double sent[most], received[most];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < most; ++i) sent[i] = 100000.0 * call + 10000.0 * rank + i, received[i] = -1;
  to_device(at[0], sent, sizeof sent);
  to_device(at[1], received, sizeof received);
  synchronize();  // a copy from pageable memory may still be under way
  MPI_Request request;
  MPI_Ineighbor_alltoall((void*)at[0], n, MPI_DOUBLE, (void*)at[1], n, MPI_DOUBLE, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  to_host(received, at[1], sizeof received);
  for (int i = 0; i < n * count; ++i) {
    const double expected = 100000.0 * call + 10000.0 * from[i / n] + edge_of[i / n] * n + i % n;
    ++*(received[i] == expected ? &right : &wrong);
  }
}

int main(int argc, char** argv) {
  int rank, ranks, one = 1, all[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const int of_next[edges] = {next, next, next}, of_before[edges] = {before, before, before};
  MPI_Comm ring, graph;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &one, 0, &ring);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, of_before, MPI_UNWEIGHTED, edges, of_next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  CUdeviceptr at[2];
  if (!load_driver(at)) return 1;
  const int in_ring[] = {before, next}, edge_in_ring[] = {1, 0}, edge_in_graph[] = {0, 1, 2};
  for (int call = 0; call < 8; ++call) {
    exchange(ring, 2, in_ring, edge_in_ring, at, call);
    exchange(graph, edges, of_before, edge_in_graph, at, call);
  }
  const int here[] = {wrong, right};
  MPI_Reduce(here, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong: %d\nright: %d\n", all[0], all[1]);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return 0;
}
