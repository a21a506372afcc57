/* What mpi4py does: the large-count functions are used wherever their symbols exist. An MPI without
   them, preloaded with a library that exports them, must still get what it is asked for. */
#include <mpi.h>
#include <stdio.h>

int MPI_Sendrecv_c(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                   MPI_Status*) __attribute__((weak));
int MPI_Pack_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm) __attribute__((weak));

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int failed = 0;
  if (MPI_Sendrecv_c && MPI_Pack_c) {
    double from[6] = {0, 1, 2, 3, 4, 5}, to[3] = {-1, -1, -1}, packed[3] = {-1, -1, -1};
    MPI_Datatype odd;
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &odd);
    MPI_Type_commit(&odd);
    failed +=
        MPI_Sendrecv_c(from, 1, odd, 0, 0, to, 3, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    MPI_Count position = 0;
    failed +=
        MPI_Pack_c(from, 1, odd, packed, sizeof packed, &position, MPI_COMM_SELF) != MPI_SUCCESS || position != 24;
    for (int i = 0; i < 3; ++i) failed += to[i] != 2 * i || packed[i] != 2 * i;
    /* What an int does not hold is an error of the MPI's, through the right handler. */
    int rc = MPI_Sendrecv_c(from, (MPI_Count)1 << 40, MPI_BYTE, 0, 0, to, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                            MPI_STATUS_IGNORE);
    if (MPI_VERSION < 4) failed += rc == MPI_SUCCESS;
    MPI_Type_free(&odd);
  }
  printf("%d failed\n", failed);
  MPI_Finalize();
  return failed != 0;
}
