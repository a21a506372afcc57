// The plan for data in a GPU's memory: predicted times, and the least that the hardware allows.
//
// Pure, as plan/host.hpp. The figures of default_device_model() are those of an H200 (docs/measurements).
#pragma once

#include <cstdint>

namespace dunnage::plan {

/// The unit that a GPU's memory is read and written in, in bytes.
inline constexpr std::int64_t sector = 32;

/// What the time depends on.
struct DeviceShape {
  std::int64_t size = 0;     // packed bytes
  std::int64_t runs = 0;     // of sectors that stand side by side in the user's buffer
  std::int64_t sectors = 0;  // in these
  std::int64_t partial = 0;  // of which the data fill only a part
};

/// The shape of `blocks` blocks of `size` bytes together, spread over `span` bytes.
DeviceShape device_shape(std::int64_t size, std::int64_t blocks, std::int64_t span);

struct DeviceModel {
  double launch;  // ns: launching a kernel and waiting for it
  double call;    // ns: what a call costs beyond that
  double byte;    // ns for a byte read or written
  double run;     // ns for a run of sectors that stand alone
  double share;   // of the memory's speed that kernels reach
};
DeviceModel default_device_model();

struct DevicePrediction {
  double time, limit;  // ns
};
/// Packing reads sectors and writes packed bytes; unpacking also reads sectors that it fills in part, since memory with error
/// correction writes whole ones only.
DevicePrediction predict(const DeviceModel& model, const DeviceShape& shape, bool pack);

}  // namespace dunnage::plan
