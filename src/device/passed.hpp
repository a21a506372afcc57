// Device memory made by the virtual memory functions (cuMemCreate, cuMemMap). Other processes get
// such memory as a file descriptor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/descriptor.hpp"
#include "device/exported.hpp"
#include "device/place.hpp"

namespace dunnage::device {

/// Whether the driver has all functions that this file needs.
bool passes_memory(const Driver& driver);

/// The mapped allocation of a place. Empty if the program that made the allocation did not ask for
/// file descriptors. The place's context must be current.
std::optional<Exported> mapping_of(const Driver& driver, const Place& place, std::int32_t owner);
/// A file descriptor of the allocation. Empty if the driver gives none.
base::Descriptor descriptor_of(const Driver& driver, const Exported& exported);

/// An allocation of another process, which is kept alive by this object.
class Passed {
 public:
  /// Throws Error.
  Passed(const Driver& driver, const base::Descriptor& descriptor);
  Passed(const Passed&) = delete;
  Passed& operator=(const Passed&) = delete;
  ~Passed();
  /// Maps `size` bytes into this process, for the current context's device. Returns their address.
  /// Throws Error.
  CUdeviceptr map(std::uint64_t size) const;
  static void unmap(const Driver& driver, CUdeviceptr address, std::uint64_t size);

 private:
  const Driver& driver_;
  CUmemGenericAllocationHandle handle_ = 0;
};

/// All allocations that other processes have passed to this one. Each owner numbers the places of
/// its own allocations. Thread-safe.
class AllPassed {
 public:
  void put(std::uint32_t place, const Exported& exported, std::shared_ptr<const Passed> passed);
  /// Removes an allocation, and returns what was at that place.
  std::optional<Exported> remove(std::int32_t owner, std::uint32_t place);
  /// Null if the allocation was not passed to this process.
  std::shared_ptr<const Passed> find(const Exported& exported);
  void clear();

 private:
  struct Known {
    Exported exported;
    std::shared_ptr<const Passed> passed;
  };
  std::mutex mutex_;
  std::map<std::pair<std::int32_t, std::uint32_t>, Known> known_;  // by owner and place
};
AllPassed& all_passed();

}  // namespace dunnage::device
