/* The prototypes that the hooks and the tables have, declared beside an MPI's own: the compiler refuses what differs.
   What that mpi.h does not declare is passed over. So is `const`, which Intel MPI 2021.18 lacks in places and which no
   ABI knows. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define const
#include <mpi.h>

#if defined(I_MPI_VERSION)
/* Intel's leaves out a const of the standard's, which no call notices. */
#define MPI_Request_get_status_all not_checked_MPI_Request_get_status_all
#define MPI_Request_get_status_any not_checked_MPI_Request_get_status_any
#define MPI_Request_get_status_some not_checked_MPI_Request_get_status_some
#define PMPI_Request_get_status_all not_checked_PMPI_Request_get_status_all
#define PMPI_Request_get_status_any not_checked_PMPI_Request_get_status_any
#define PMPI_Request_get_status_some not_checked_PMPI_Request_get_status_some
#endif
#include "shim/prototypes.h"
