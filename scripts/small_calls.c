/* What one small call takes, in nanoseconds: the best mean of five rounds, on rank 0.

     mpicc -O2 -o small_calls scripts/small_calls.c
     mpirun -n 2 ./small_calls CASE                      plain
     mpirun -n 2 env LD_PRELOAD=.../libdunnage.so ./small_calls CASE

   CASE: send (to nobody), receive (MPI_Irecv and MPI_Wait, from nobody), start (MPI_Start and
   MPI_Wait of a send to nobody), pair (two MPI_Start and MPI_Waitall of a message to oneself). Each
   case needs a launch of its own, because a program that has persistent requests is another one to
   Dunnage. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 8, tag = 1, rounds = 5, calls = 200000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  const int send = !strcmp(what, "send"), receive = !strcmp(what, "receive"), start = !strcmp(what, "start"),
            pair = !strcmp(what, "pair");
  if (!(send || receive || start || pair)) {
    fprintf(stderr, "usage: small_calls send|receive|start|pair\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  char out[bytes] = {0}, in[bytes] = {0};
  int rank = 0;
  MPI_Request request = MPI_REQUEST_NULL, both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (start || pair) {
    MPI_Send_init(out, bytes, MPI_CHAR, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &request);
    MPI_Send_init(out, bytes, MPI_CHAR, rank, tag, MPI_COMM_WORLD, &both[0]);
    MPI_Recv_init(in, bytes, MPI_CHAR, rank, tag, MPI_COMM_WORLD, &both[1]);
  }
  double best = 1;
  for (int round = 0; round < rounds; ++round) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
      if (send) {
        MPI_Send(out, bytes, MPI_CHAR, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
      } else if (receive) {
        MPI_Irecv(in, bytes, MPI_CHAR, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else if (start) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Start(&both[0]);
        MPI_Start(&both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
      }
    }
    const double mean = (MPI_Wtime() - begin) / calls;
    if (mean < best) best = mean;
  }
  if (rank == 0) printf("%s: %.1f ns\n", what, best * 1e9);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  for (int i = 0; i < 2; ++i)
    if (both[i] != MPI_REQUEST_NULL) MPI_Request_free(&both[i]);
  MPI_Finalize();
}
