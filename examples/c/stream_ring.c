/* A ring of ranks, each with a matrix in device memory. Each sends its last column to the right
   neighbour, which receives it as its first. A CUDA stream starts the messages and waits for them:
   the host enqueues all steps, and waits once at the end. Each step also copies the received column
   to the last one, so that the columns go round. Every value is checked.

   Call: stream_ring [STEPS]. The CUDA driver is opened when the program runs. Exit status 0: right;
   1: wrong; 3: no GPU. */
#include <dlfcn.h>
#include <dunnage.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/cuda_driver_api.h"

enum { ROWS = 512, COLUMNS = 64 };

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define DRIVER(name) static __typeof__(&name) name##_p
DRIVER(cuInit);
DRIVER(cuDeviceGetCount);
DRIVER(cuDevicePrimaryCtxRetain);
DRIVER(cuCtxSetCurrent);
DRIVER(cuStreamCreate);
DRIVER(cuStreamSynchronize);
DRIVER(cuStreamDestroy);
DRIVER(cuMemAlloc);
DRIVER(cuMemFree);
DRIVER(cuMemcpyHtoD);
DRIVER(cuMemcpyDtoH);
DRIVER(cuCtxSynchronize);
DRIVER(cuMemcpy2DAsync);

static int open_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) return 0;
#define FIND(name) \
  if (!(*(void**)& name##_p = dlsym(library, TEXT(name)))) return 0
  FIND(cuInit);
  FIND(cuDeviceGetCount);
  FIND(cuDevicePrimaryCtxRetain);
  FIND(cuCtxSetCurrent);
  FIND(cuStreamCreate);
  FIND(cuStreamSynchronize);
  FIND(cuStreamDestroy);
  FIND(cuMemAlloc);
  FIND(cuMemFree);
  FIND(cuMemcpyHtoD);
  FIND(cuMemcpyDtoH);
  FIND(cuCtxSynchronize);
  FIND(cuMemcpy2DAsync);
  return cuInit_p(0) == CUDA_SUCCESS;
}

static double value(int rank, int row) { return rank * 1000.0 + row; }

int main(int argc, char** argv) {
  static double host[ROWS][COLUMNS];
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  int rank, ranks, devices = 0;
  CUcontext context;
  CUstream stream;
  CUdeviceptr matrix;
  if (!open_driver()) return 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (cuDeviceGetCount_p(&devices) != CUDA_SUCCESS || devices == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  cuDevicePrimaryCtxRetain_p(&context, rank % devices);
  cuCtxSetCurrent_p(context);
  cuStreamCreate_p(&stream, CU_STREAM_NON_BLOCKING);
  cuMemAlloc_p(&matrix, sizeof host);
  for (int row = 0; row < ROWS; ++row) host[row][COLUMNS - 1] = value(rank, row);
  cuMemcpyHtoD_p(matrix, host, sizeof host);
  cuCtxSynchronize_p();

  MPI_Datatype column;
  MPI_Request requests[2];
  const CUdeviceptr last = matrix + (COLUMNS - 1) * sizeof(double);
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Recv_init((void*)matrix, 1, column, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init((const void*)last, 1, column, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);

  DNG_Queue queue;
  DNG_Exchange exchange;
  if (DNG_Queue_create(stream, &queue) || DNG_Match(2, requests, &exchange)) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int step = 0; step < steps; ++step) {
    if (DNG_Start_enqueue(exchange, queue) || DNG_Wait_enqueue(exchange, queue)) MPI_Abort(MPI_COMM_WORLD, 2);
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = matrix,
                                .srcPitch = sizeof host[0],
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = last,
                                .dstPitch = sizeof host[0],
                                .WidthInBytes = sizeof(double),
                                .Height = ROWS};
    cuMemcpy2DAsync_p(&copy, stream);
  }
  cuStreamSynchronize_p(stream);

  cuMemcpyDtoH_p(host, matrix, sizeof host);
  const int from = ((rank - steps) % ranks + ranks) % ranks;
  int wrong = 0, all = 0;
  for (int row = 0; row < ROWS; ++row) wrong += host[row][COLUMNS - 1] != value(from, row);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const char* why = "";
  DNG_Exchange_query(exchange, NULL, &why);
  if (rank == 0) printf("%d steps, %d wrong; %s\n", steps, all, why);
  DNG_Exchange_free(&exchange);
  DNG_Queue_free(&queue);
  MPI_Type_free(&column);
  cuMemFree_p(matrix);
  cuStreamDestroy_p(stream);
  MPI_Finalize();
  return all != 0;
}
