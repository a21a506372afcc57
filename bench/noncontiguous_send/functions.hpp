// The calls that a scheme consists of, through the preloaded library or past it. Both ranks must
// use the same functions for all of an exchange. With Dunnage a message may travel in a form that
// only Dunnage's receive understands.
#pragma once

#include <mpi.h>

namespace bench {

struct Functions {
  decltype(&MPI_Send) send;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Bsend) bsend;
  decltype(&MPI_Buffer_attach) buffer_attach;
  decltype(&MPI_Buffer_detach) buffer_detach;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Send_init) send_init;
  decltype(&MPI_Start) start;
  decltype(&MPI_Request_free) request_free;
  decltype(&MPI_Pack) pack;
  decltype(&MPI_Put) put;
  decltype(&MPI_Win_create) win_create;
  decltype(&MPI_Win_fence) win_fence;
  decltype(&MPI_Win_free) win_free;
};

/// Returns the functions that a program uses: Dunnage's if it is loaded.
const Functions& through();

/// Returns the MPI library's own functions.
const Functions& past();

}  // namespace bench
