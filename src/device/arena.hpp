// Device memory of our own that other processes can read: for data that cannot be read where they are.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "device/ipc.hpp"

namespace dunnage::device {

/// Of one context, which must be current for every call. Thread-safe.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  explicit Arena(const Driver& driver) : driver_(driver) {}

  /// Goes back to the arena when nobody has it any more.
  struct Block {
    CUdeviceptr address = 0;
    Exported exported{};
  };
  /// At least `size` bytes; null where that would be more than `most` in all, or there is no memory, or it cannot be exported.
  std::shared_ptr<const Block> take(std::uint64_t size, std::uint64_t most, std::int32_t owner);
  /// Frees what nobody has; what comes back later is left to the context's end.
  void release();

 private:
  static constexpr std::uint64_t smallest = 2 << 20;  // the unit that the driver exports
  void give_back(const Block& block, int shelf);

  const Driver& driver_;
  std::mutex mutex_;
  bool released_ = false, exports_ = true;
  std::uint64_t total_ = 0;
  std::array<std::vector<Block>, 64> shelves_;
};

}  // namespace dunnage::device
