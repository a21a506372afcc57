#pragma once

#include <functional>

#include "arena.hpp"

namespace bench {

/// Decides whether calls move the right bytes: the bytes that the case's geometry names, and no
/// others. If our kernels run on the device, the check runs there, else on copies of the buffers in
/// host memory.
class Verifier {
 public:
  Verifier(const Device& device, const Arena& arena, const Case& subject);
  using Call = std::function<void(const Slot&)>;
  /// Returns whether `call` packs (or unpacks) correctly into a poisoned destination and leaves the
  /// rest of both buffers unchanged.
  bool pack(const Slot& slot, const Call& call);
  bool unpack(const Slot& slot, const Call& call);

 private:
  bool verify(const Slot& slot, const Call& call, bool packing);
  std::uint64_t differences_on_device(const Slot& slot, bool packing);
  std::uint64_t differences_on_host(const Slot& slot, bool packing);
  void fill(CUdeviceptr address, std::uint64_t bytes, std::uint64_t seed) const;

  const Device& device_;
  const Arena& arena_;
  const Case& subject_;
  Kernel fill_, differ_, differ_packed_, differ_user_, restore_;
  Geometry geometry_;  ///< the geometry with its lists on the device
  DeviceMemory offsets_, starts_, count_;
};

}  // namespace bench
