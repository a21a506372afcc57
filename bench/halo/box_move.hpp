// What the hand-written kernel moves.
#pragma once

namespace bench::halo {

/// Doubles from one place to another. Rows along x are contiguous on both sides. Strides are in
/// doubles.
struct BoxMove {
  const double* from;
  double* to;
  int length[3];
  long from_stride[2], to_stride[2];  // of y and z
};

}  // namespace bench::halo
