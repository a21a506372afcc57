// The kernel of option 5. It sends what earlier kernels of its stream have computed.
#pragma once

#include "dunnage_device.cuh"

/// A block sends one variable of a face, which is a partition. The two sends of a dimension are the
/// first requests of the exchange.
extern "C" __global__ void higrad_send(DNG_Device exchange, int variables) {
  const int block = static_cast<int>(blockIdx.x);
  dng_pready_block(exchange, block / variables, block % variables);
}
