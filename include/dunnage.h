/* Triggered communication: streams of a GPU start and wait for messages, without the host.
   docs/guide/triggered.md shows how to use it, docs/reference/api.md describes every call. A
   program is linked with -ldunnage-api, and runs with and without Dunnage preloaded. */
#ifndef DUNNAGE_H
#define DUNNAGE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. DNG_api_version() returns that of the library. */
#define DNG_API_VERSION 1

/* Messages of persistent requests, which streams start and wait for together. */
typedef struct DNG_Exchange_s* DNG_Exchange;
#define DNG_EXCHANGE_NULL ((DNG_Exchange)0)

/* A stream of CUDA (cudaStream_t or CUstream). */
typedef struct DNG_Queue_s* DNG_Queue;
#define DNG_QUEUE_NULL ((DNG_Queue)0)

/* An exchange as kernels know it (dunnage_device.cuh). A plain argument of a kernel. */
typedef const struct DNG_Device_s* DNG_Device;
#define DNG_DEVICE_NULL ((DNG_Device)0)

/* Which way an exchange takes. */
#define DNG_WAY_MPI 0               /* the host waits, and the MPI does the messages */
#define DNG_WAY_MEMORY_OPERATIONS 1 /* streams wait by memory operations */
#define DNG_WAY_KERNELS 2           /* kernels wait */
#define DNG_WAY_PROXY 3             /* streams wait, and a thread of the host does the messages */

/* All calls return MPI_SUCCESS or an MPI error code, and call no error handler of their own. An MPI
   function that is called inside may call that of its communicator. */

/* Makes an exchange of persistent requests (MPI_Send_init and the other modes, MPI_Recv_init,
   MPI_Psend_init, MPI_Precv_init), together with all ranks with which the requests communicate. The
   requests must be inactive. They belong to the exchange from then on, and the handles become
   MPI_REQUEST_NULL. */
int DNG_Match(int count, MPI_Request requests[], DNG_Exchange* exchange);
/* The name by which a program calls it whose kernels know stamped partitions, as those of this
   version's dunnage_device.cuh do. Programs of before call DNG_Match, and get none. */
#define DNG_Match DNG_Match_stamped
int DNG_Match(int count, MPI_Request requests[], DNG_Exchange* exchange);
/* Frees an exchange and its requests. It must not be under way. Local. */
int DNG_Exchange_free(DNG_Exchange* exchange);

/* Makes a queue of a stream, which is of the current CUDA context. Local. */
int DNG_Queue_create(void* stream, DNG_Queue* queue);
/* Frees a queue. The stream stays. No exchange may be under way in it. Local. */
int DNG_Queue_free(DNG_Queue* queue);

/* Starts an exchange when the stream gets there. What the stream has written before is sent. */
int DNG_Start_enqueue(DNG_Exchange exchange, DNG_Queue queue);
/* Work behind it in the stream finds the received data, and may overwrite what was sent. */
int DNG_Wait_enqueue(DNG_Exchange exchange, DNG_Queue queue);

/* Marks a partition of a partitioned send as ready when the stream gets there. `request`: the
   request's place in the array that DNG_Match was given. The exchange must have been started. The
   queue may be another one than that of the start. */
int DNG_Pready_enqueue(int partition, int request, DNG_Exchange exchange, DNG_Queue queue);

/* The exchange as kernels know it. All its requests must be partitioned. It goes by kernels from
   then on, or the call fails. The result is valid until the exchange is freed. Local. */
int DNG_Exchange_device(DNG_Exchange exchange, DNG_Device* device);

/* Which way the exchange takes (DNG_WAY_*), and why. The text lives as long as the exchange. Either
   pointer may be null. Local. */
int DNG_Exchange_query(DNG_Exchange exchange, int* way, const char** why);
/* The error that has ended the exchange, or MPI_SUCCESS. Local. */
int DNG_Exchange_error(DNG_Exchange exchange, int* code);

int DNG_api_version(void);

#ifdef __cplusplus
}
#endif

#endif
