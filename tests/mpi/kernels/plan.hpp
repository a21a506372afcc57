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

/// Two exchanges with the neighbours on a ring take turns. Each has a receive and a send of one
/// partition of `ints` ints.
struct Turns {
  DNG_Device exchange[2];
  int scope, rounds, ints, sender;  // `sender`: the rank from which this one receives
  int *out[2], *in[2];
  int* broken;  // becomes 0, or 1 if a call says that the exchange is broken, or a value is wrong
  int rank;
};

/// One block hands a value over to another block of its grid, which answers.
struct HandOver {
  char* words;  // on lines of their own: the value, what the other block has seen, and two flags
  int fenced;   // 1: a fence lies between the value and its flag
};
constexpr dng_word handed_over = 42;

constexpr int poison = -7;

}  // namespace triggered_kernels
