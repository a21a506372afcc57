// Device memory of one process that the GPU of another process reads.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "device/exported.hpp"
#include "device/place.hpp"

namespace dunnage::device {

/// The allocation of a place, exported by handle. Empty if the driver cannot export it by handle:
/// memory of pools, managed memory, virtual memory, and memory of other processes.
std::optional<Exported> export_of(const Driver& driver, const Place& place, std::int32_t owner);

/// An allocation of another process, mapped into a context of this process during the lifetime of
/// the object. Memory of this process (Exported::own) is there without a mapping.
class Import {
 public:
  /// Maps the allocation into the current context. Throws Error.
  Import(const Driver& driver, const Exported& exported);
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  ~Import();
  const Exported& exported() const { return exported_; }
  std::uintptr_t begin() const { return static_cast<std::uintptr_t>(address_); }

 private:
  const Driver& driver_;
  const Exported exported_;
  CUcontext context_ = nullptr;
  unsigned long long context_id_;
  CUdeviceptr address_ = 0;
};

/// The allocations that are mapped into one context. They are kept, because mapping one takes a
/// millisecond or more. Thread-safe.
class Imports {
 public:
  /// Maps an allocation, or finds its mapping. The context must be current. If another allocation
  /// of that owner was mapped at the same addresses, the owner has freed it, and its mapping ends.
  /// Throws Error.
  std::shared_ptr<const Import> open(const Driver& driver, const Exported& exported);
  /// Drops a mapping. It ends when its last user has dropped it.
  void forget(const Exported& exported);
  void clear();

 private:
  static constexpr std::size_t most = 256;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Import>> imports_;  // the one that was used last comes first
};

}  // namespace dunnage::device
