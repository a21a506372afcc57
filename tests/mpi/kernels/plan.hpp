// What the kernels of this folder are told. Plain data, for the host and for the device.
#pragma once

#include "dunnage_device.cuh"

namespace triggered_kernels {

/// A partition of one of this rank's requests: ints of its buffer, from which or to which it is.
struct Region {
  int request, partition;
  long long begin, length;
  long long span;  // the ints of the buffer
  int* buffer;
  int* rounds;  // the buffer as it is to be sent, or as it was received, round after round
};

enum Scope { thread, warp, block };

struct Plan {
  DNG_Device exchange;
  int scope, rounds, first_round, sends, receives;
  const Region *send, *receive;
  int* broken;  // becomes 1 if a call says so
};

constexpr int poison = -7;

}  // namespace triggered_kernels
