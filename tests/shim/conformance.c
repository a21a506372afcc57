/* The prototypes that the hooks and the tables have, declared beside an MPI's own: the compiler
   refuses what differs. What that mpi.h does not declare is passed over. So is `const`, which Intel
   MPI 2021.18 lacks in places and which no ABI knows. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define const
#include <mpi.h>

#include "shim/prototypes.h"
