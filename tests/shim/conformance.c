/* The prototypes that the hooks and the tables have, declared beside an MPI's own: the compiler refuses what differs.
   What that mpi.h does not declare is passed over. */
#include <mpi.h>

#include "shim/prototypes.h"
