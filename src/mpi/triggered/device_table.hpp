// The partitioned messages of an exchange, as kernels read them (include/dunnage_device.cuh).
#pragma once

#include <optional>
#include <vector>

#include "device/gpu.hpp"
#include "dunnage_device.cuh"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {

/// A nest of loops over blocks, and the address of its first byte.
struct Nest {
  transport::gpu::GpuSource shape{};
  std::uintptr_t first = 0;
};
/// Data of this process. Nothing if they are no such nest.
std::optional<Nest> nest_of(const pack::gpu::Described& data);

/// Whatever all words must be aligned to, in one number.
std::uint64_t alignment_of(const Nest& nest);
dng_layout layout_of(const Nest& nest, unsigned word);

/// Describes a send. `bytes`: of one of its partitions. The slots are left empty.
dng_request send_between(const Nest& from, const Nest& to, std::int64_t partitions, std::int64_t bytes);

struct DeviceTable {
  DNG_Device_s header{};
  std::vector<dng_request> requests;
  std::vector<std::uintptr_t> opens;  // the slots that are told of a start
  std::vector<dng_stamp> stamps;      // of all requests, or empty
  std::vector<dng_partition> comes;   // the stamped ones that this rank receives
  std::vector<dng_slots> waits;       // all slots to wait for, but the flags of those

  std::size_t size() const { return bytes_at(0).size(); }
  /// What is to be written to a device address.
  std::vector<char> bytes_at(std::uintptr_t address) const;
};

}  // namespace dunnage::mpi
