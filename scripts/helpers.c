/* How much the helpers of DUNNAGE_THREADS gain: MPI_Pack and MPI_Unpack of vectors, caches flushed
 * before each call. With two ranks: messages between them with that layout on both sides, half the
 * time there and back. Prints the median time of 21 calls in microseconds, after 30 that are not
 * counted, and checks the bytes. Build and run, also with 1 and without Dunnage:
 *
 *   mpicc -O2 -o helpers scripts/helpers.c
 *   DUNNAGE_THREADS=2 mpirun -n 1 --bind-to none dunnage run ./helpers
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

enum { ignored = 30, counted = 21 };

static void flush(const char* at, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) _mm_clflush(at + i);
  _mm_mfence();
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* How many doubles are not what they should be. */
static long wrong_ones(const double* back, const double* user, int count, int block, int stride) {
  long wrong = 0;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < stride; ++k) {
      const size_t at = (size_t)i * (size_t)stride + (size_t)k;
      wrong += back[at] != (k < block ? user[at] : 0);
    }
  return wrong;
}

static void measure(int ranks, int rank, int block, int stride, int bytes) {
  const int count = bytes / (block * (int)sizeof(double));
  const size_t span = (size_t)count * (size_t)stride * sizeof(double);
  double *user = malloc(span), *back = malloc(span);
  char* packed = malloc((size_t)bytes);
  for (size_t i = 0; i < span / sizeof(double); ++i) user[i] = (double)i;
  memset(back, 0, span);
  memset(packed, 0, (size_t)bytes);
  MPI_Datatype type;
  MPI_Type_vector(count, block, stride, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  double times[2][counted];
  for (int call = 0; call < ignored + counted; ++call)
    for (int unpack = 0; unpack < 3 - ranks; ++unpack) {
      flush((char*)user, span);
      flush((char*)back, span);
      flush(packed, (size_t)bytes);
      if (ranks == 2) MPI_Barrier(MPI_COMM_WORLD);
      int position = 0;
      const double start = MPI_Wtime();
      if (ranks == 2 && rank == 0) {
        MPI_Send(user, 1, type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(back, 1, type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (ranks == 2) {
        MPI_Recv(back, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(user, 1, type, 0, 0, MPI_COMM_WORLD);
      } else if (unpack) {
        MPI_Unpack(packed, bytes, &position, back, 1, type, MPI_COMM_SELF);
      } else {
        MPI_Pack(user, 1, type, packed, bytes, &position, MPI_COMM_SELF);
      }
      const double time = (MPI_Wtime() - start) / ranks;
      if (call >= ignored) times[unpack][call - ignored] = 1e6 * time;
    }
  const long wrong = wrong_ones(back, user, count, block, stride);
  for (int unpack = 0; unpack < 3 - ranks; ++unpack) qsort(times[unpack], counted, sizeof(double), by_value);
  if (rank == 0) {
    printf("vector %d/%d, %d KiB: %s %.0f", block, stride, bytes >> 10, ranks == 2 ? "message" : "pack",
           times[0][counted / 2]);
    if (ranks == 1) printf(", unpack %.0f", times[1][counted / 2]);
    puts(wrong ? ", WRONG" : "");
    fflush(stdout);
  }
  MPI_Type_free(&type);
  free(user);
  free(back);
  free(packed);
}

int main(int argc, char** argv) {
  int ranks = 1, rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (ranks > 2) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int bytes = 2 << 20; bytes <= 32 << 20; bytes *= 4) {
    measure(ranks, rank, 1, 2, bytes);
    measure(ranks, rank, 8, 16, bytes);
    measure(ranks, rank, 64, 128, bytes);
  }
  MPI_Finalize();
  return 0;
}
