// What the kernel of persistent_stencil.cpp is told. Plain data, for the host and for the device.
#pragma once

#include "dunnage_device.cuh"

// In device memory, all zero at first. The blocks of the grid meet there.
struct Meeting {
  unsigned arrived;  // how many blocks have come, in all meetings together
  unsigned ended;    // how many meetings have ended
  int broken;        // becomes 1 if an exchange has failed
};

// The places of the sends in the requests of an exchange.
enum { send_up, send_down };

struct Stencil {
  // Two buffers take turns: each step reads one and writes the other. The first and the last row of
  // a buffer are received from the neighbours, and the rank's own `rows` rows are between them.
  double* field[2];
  DNG_Device exchange[2];  // exchange[i] sends the outermost own rows of field[i]
  int rows, columns;
  int partitions;  // of a row that is sent
  int steps;
  Meeting* meeting;
};
