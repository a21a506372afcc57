// What the kernels of this folder are told. Plain data, for the host and for the device.
#pragma once

#include "dunnage_device.cuh"

namespace triggered {

struct Trips {
  DNG_Device out, in;  // one exchange if a rank is alone
  int first, count;    // whether this rank sends first; legs
  int* broken;
};

/// A leg: blocks of bytes go to the other rank, and then the flag gets the number.
struct Bare {
  const char* from;
  char *to, *flag;
  dng_word number;
  unsigned* ended;                 // blocks of the kernel; becomes 0 again
  unsigned blocks, block, stride;  // bytes
};

struct Overlap {
  DNG_Device exchange;
  int request, partitions, loops, sends;
  int senders;  // warps of each block that send while its other threads compute; 0: the whole block sends
  int* broken;
  float* result;
  unsigned long long* trace;  // of each partition four times in ns: computing and sending, begin and end; or null
};

}  // namespace triggered
