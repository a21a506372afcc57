// Memory made by the virtual memory functions (cuMemCreate, cuMemMap), which goes from process to process as a file descriptor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/descriptor.hpp"
#include "device/ipc.hpp"

namespace dunnage::device {

/// Whether the driver has all functions that this takes.
bool passes_memory(const Driver& driver);

/// The mapped allocation that a place is in, if whoever made it asked for descriptors of it. The place's context must be current.
std::optional<Exported> mapping_of(const Driver& driver, const Place& place, std::int32_t owner);
/// A descriptor of it; empty where the driver gives none.
base::Descriptor descriptor_of(const Driver& driver, const Exported& exported);

/// An allocation of another process, which lives at least as long as this.
class Passed {
 public:
  /// Throws Error.
  Passed(const Driver& driver, const base::Descriptor& descriptor);
  Passed(const Passed&) = delete;
  Passed& operator=(const Passed&) = delete;
  ~Passed();
  /// To addresses of this process, for the current context's device. Throws Error.
  CUdeviceptr map(std::uint64_t size) const;
  static void unmap(const Driver& driver, CUdeviceptr address, std::uint64_t size);

 private:
  const Driver& driver_;
  CUmemGenericAllocationHandle handle_ = 0;
};

/// What has been passed to this process, at places that the owners number. Thread-safe.
class AllPassed {
 public:
  void put(std::uint32_t place, const Exported& exported, std::shared_ptr<const Passed> passed);
  /// What was there.
  std::optional<Exported> remove(std::int32_t owner, std::uint32_t place);
  /// Null where it has not been.
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
