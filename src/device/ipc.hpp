// Memory of one process' GPU that another process' GPU reads.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "device/place.hpp"

namespace dunnage::device {

/// One allocation, as its process exports it. Plain bytes: it travels between processes.
struct Exported {
  enum Way : std::uint32_t { by_handle, by_descriptor };  // the latter has been passed before (device/passed.hpp)
  unsigned char handle[64];
  std::uint64_t begin, size;  // where it stands in its process
  std::uint64_t id;           // no other allocation of that process has it, however long it runs
  std::int32_t device;        // the ordinal there
  std::int32_t owner;         // a number that tells processes apart
  std::uint32_t way, unused;
};
static_assert(sizeof(CUipcMemHandle) == sizeof Exported::handle);

/// The allocation that a place is in, by handle; nothing where the driver exports it in no such way (of pools, managed and virtual memory,
/// and what has been mapped from elsewhere).
std::optional<Exported> export_of(const Driver& driver, const Place& place, std::int32_t owner);

/// An allocation of another process, mapped into a context of this one while anyone needs it.
class Import {
 public:
  /// Into the current context. Throws Error.
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

/// What is mapped into one context, kept since mapping takes a millisecond and more. Thread-safe.
class Imports {
 public:
  /// The context must be current. What stood there before with another id has been freed: its mapping ends. Throws Error.
  std::shared_ptr<const Import> open(const Driver& driver, const Exported& exported);
  /// What is still used stays until it is not.
  void forget(const Exported& exported);
  void clear();

 private:
  static constexpr std::size_t most = 256;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Import>> imports_;  // what was used last comes first
};

}  // namespace dunnage::device
