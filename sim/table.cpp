#include "sim/table.hpp"

#include <atomic>

namespace dunnage::sim {

std::uintptr_t new_handle() {
  static std::atomic<std::uintptr_t> last{0};
  // Handles are not valid addresses on any machine, so that a program that dereferences a handle
  // crashes at once.
  return (std::uintptr_t{0x5d} << 56) + (last += 16);
}

}  // namespace dunnage::sim
