// Who reads from whom where the ranks of a host get a broadcast out of the memory of each other's GPUs, and whoever has some of the data can be read from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/cost.hpp"

namespace dunnage::collective {

/// Between two GPUs of a host: what an H200 reads from another over NVLink, and what a piece costs that is asked for and waited for (docs/measurements, 2026-11-22). On slower links, where
/// pieces cost no more, what is chosen by these is right from smaller messages on.
inline constexpr LogGP between_gpus{8e-6, 3e-6, 1 / 370e9};

struct Readers {
  std::vector<std::uint16_t> source;  // of each process, which one it reads from; the root's is itself
  std::int64_t segment = 0;           // bytes of each piece that is passed on; 0: all read from the root
};

/// `device`: of each process, which GPU its buffer is in; 0 where that is not known: these read from the root. All others read from the root too, over its one link, unless a chain of one
/// process of each GPU is predicted to be faster, from the first of which the others of its GPU read. A pure function; at most 65,535 processes.
Readers readers(std::span<const std::uint64_t> device, std::uint32_t root, std::int64_t bytes, const LogGP& link);

}  // namespace dunnage::collective
