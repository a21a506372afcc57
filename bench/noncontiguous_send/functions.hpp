// The calls that a scheme is made of, through the preload or past it. Both ranks of an exchange must use the same ones for all
// of it: with Dunnage a message may travel in parts of its own, which only its receive understands.
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

/// The names that a program uses: Dunnage's where it is loaded.
const Functions& through();

/// The MPI library's own.
const Functions& past();

}  // namespace bench
