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

/// Describes a send. `bytes`: of one of its partitions. The slots are left empty.
dng_request send_between(const Nest& from, const Nest& to, std::int64_t partitions, std::int64_t bytes);

/// The bytes of a table at a device address: the header, then the requests, then the slots that are
/// told of a start.
struct DeviceTable {
  DNG_Device_s header{};
  std::vector<dng_request> requests;
  std::vector<std::uintptr_t> opens;
  std::size_t size() const;
  std::vector<char> bytes_at(std::uintptr_t address) const;
};

}  // namespace dunnage::mpi
