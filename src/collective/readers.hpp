// Which process reads from which, if the ranks of a host broadcast by reading each other's GPU
// memory. A process that has part of the data can be read from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/cost.hpp"

namespace dunnage::collective {

/// The cost of reads between two GPUs of a host: an H200's reads over NVLink, and the cost of a
/// piece that is requested and waited for (docs/measurements, 2026-11-22). If links are slower and
/// pieces cost no more, the choices by these figures are right from smaller messages on.
inline constexpr LogGP between_gpus{8e-6, 3e-6, 1 / 370e9};

struct Readers {
  // For each process, the process that it reads from; for the root, itself.
  std::vector<std::uint16_t> source;
  std::int64_t segment = 0;  // bytes of each piece that is passed on; 0 if all read from the root
};

/// Chooses the readers. `device` has, for each process, the GPU that its buffer is in, or 0 if that
/// is unknown. A process with 0 reads from the root. All others also read from the root, over its
/// one link, unless a chain is predicted to be faster. The chain has the first process of each GPU,
/// and the other processes of a GPU read from that process. A pure function. There may be at most
/// 65,535 processes.
Readers readers(std::span<const std::uint64_t> device, std::uint32_t root, std::int64_t bytes, const LogGP& link);

}  // namespace dunnage::collective
