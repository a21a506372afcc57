// Device memory of our own that other processes can read. Data that other processes cannot read in
// place are copied there.
#pragma once

#include <atomic>
#include <memory>

#include "base/pool.hpp"
#include "device/ipc.hpp"

namespace dunnage::device {

/// Device memory of one context. The context must be current for every call. Thread-safe.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  explicit Arena(const Driver& driver) : pool_(Source{driver}) {}

  struct Block {
    CUdeviceptr address = 0;
    Exported exported{};
    explicit operator bool() const { return address != 0; }
  };
  /// At least `size` bytes, exported by the process that `owner` stands for. The block returns to
  /// the arena when its last user has dropped it. Null if the arena would have more than `most`
  /// bytes in all, if the device has no memory, if the driver cannot export memory, or after
  /// release().
  std::shared_ptr<const Block> take(std::uint64_t size, std::uint64_t most, std::int32_t owner);
  /// Frees the blocks that nobody uses. Blocks that are still in use end with the context.
  void release() { pool_.release(); }

 private:
  struct Source {
    using Block = Arena::Block;
    static constexpr int smallest = 21;  // 2 MiB, the unit that the driver exports
    static constexpr bool makes_room = true;
    explicit Source(const Driver& d) : driver(d) {}
    Source(Source&& other) : driver(other.driver) {}
    Block make(std::size_t bytes, std::int32_t owner);
    void free(const Block& block, std::size_t) { driver.cuMemFree(block.address); }

    const Driver& driver;
    std::atomic<bool> exports{true};  // false once an export has failed: no later one would succeed
  };
  base::Pool<Source> pool_;
};

}  // namespace dunnage::device
