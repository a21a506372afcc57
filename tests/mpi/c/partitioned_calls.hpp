// The partitioned calls. The programs are compiled once for Open MPI 4 and 5, and the older mpi.h
// lacks them.
#pragma once

#include <mpi.h>

#include <cstring>

#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION < 5
#define CONTRACT_WEAK __attribute__((weak))
extern "C" {
int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) CONTRACT_WEAK;
int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) CONTRACT_WEAK;
int MPI_Pready(int partition, MPI_Request request) CONTRACT_WEAK;
int MPI_Pready_range(int low, int high, MPI_Request request) CONTRACT_WEAK;
int MPI_Pready_list(int length, const int partitions[], MPI_Request request) CONTRACT_WEAK;
int MPI_Parrived(MPI_Request request, int partition, int* flag) CONTRACT_WEAK;
}
#undef CONTRACT_WEAK
#endif

// Whether the MPI has them. What is preloaded may have the names for an MPI that lacks them.
inline bool partitioned_calls() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  PMPI_Get_library_version(version, &length);
  return std::strncmp(version, "Open MPI v4", std::strlen("Open MPI v4")) != 0;
}
