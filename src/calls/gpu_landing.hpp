// Where data go that are read from another GPU's memory.
#pragma once

#include <memory>
#include <vector>

#include "calls/landing.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {

/// Where they go if that is device memory in one piece; else null.
const engine::Described* on_device(const Landing& landing);

/// Device memory whose device reads the source, or none: then by way of host memory. And the context that does it.
struct Destination {
  const engine::Described* to;
  CUcontext context;
};
/// Throws device::Error.
Destination destination(const device::Driver& driver, const Landing& landing, const engine::GpuSource& source);

/// By way of host memory: what the receiver's layout is is its own affair. Throws.
void fetch_to_host(const device::Driver& driver, const engine::Remote& remote, Landing& landing);

/// Looks at what is under way between two looks into the MPI: one of these takes 8 us where messages have come, one of those less than 1 us.
inline constexpr int rounds_between = 64;

/// Transfers with the context that they need. Ends them in it.
class ScopedTransfers {
 public:
  /// Throws device::Error.
  ScopedTransfers(CUcontext context, const std::vector<engine::Transfers::Move>& moves);
  ScopedTransfers(ScopedTransfers&&) = default;
  ScopedTransfers& operator=(ScopedTransfers&&) = delete;
  ~ScopedTransfers();
  /// Throws device::Error.
  bool done();

 private:
  CUcontext context_;
  std::unique_ptr<engine::Transfers> transfers_;
};

}  // namespace dunnage::calls
