// The plan for data in a GPU's memory: predicted times, and the shortest time that the hardware
// allows.
//
// All functions are pure, as in plan/host.hpp. The figures of default_device_model() are those of
// an H200 (docs/measurements).
#pragma once

#include <cstdint>

namespace dunnage::plan {

/// The unit, in bytes, in which a GPU's memory is read and written.
inline constexpr std::int64_t sector = 32;

/// What the time of packing or unpacking depends on.
struct DeviceShape {
  std::int64_t size = 0;     // packed bytes
  std::int64_t runs = 0;     // runs of adjacent sectors in the user's buffer
  std::int64_t sectors = 0;  // sectors in all runs
  std::int64_t partial = 0;  // sectors that the data fill only in part
};

/// Returns the shape of `blocks` blocks that have `size` bytes together and are spread over `span`
/// bytes.
DeviceShape device_shape(std::int64_t size, std::int64_t blocks, std::int64_t span);

struct DeviceModel {
  double launch;  // ns to launch a kernel and to wait for its end
  double call;    // ns that a call costs besides the launch
  double byte;    // ns for a byte read or written
  double run;     // ns for each run of sectors that stands alone
  double share;   // the part of the memory's bandwidth that kernels reach, 0 to 1
};
DeviceModel default_device_model();

struct DevicePrediction {
  double time;   // ns, as predicted
  double limit;  // ns, the least that the hardware allows
};
/// Predicts the time to pack (`pack` is true) or to unpack. Packing reads sectors and writes packed
/// bytes. Unpacking also reads each sector that it fills in part, because memory with error
/// correction writes whole sectors only.
DevicePrediction predict(const DeviceModel& model, const DeviceShape& shape, bool pack);

}  // namespace dunnage::plan
