// Data in a process' shared memory that several other ranks of its host read: nonblocking broadcasts. Who publishes does not wait for anybody; the memory is used
// again when all have read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transport/shm/patience.hpp"
#include "transport/shm/regions.hpp"

namespace dunnage::transport::shm {

/// What stands before the data.
struct Publication {
  static constexpr std::int64_t lost = -1;
  std::uint64_t serial = 0;  // which a publisher uses once
  std::int64_t size = 0;
  std::atomic<std::uint32_t> left{0};    // readers that have not been there, and the publisher until it has written
  std::atomic<std::int64_t> written{0};  // bytes of the data, from the beginning; or lost
  static constexpr std::int64_t data_begin = 64;
};
static_assert(sizeof(Publication) <= Publication::data_begin);

/// Another process' publication, which has to be read by this one once.
class Reading {
 public:
  /// `publisher`: of which it is.
  Reading(Publication* publication, const Memory* publisher) : publication_(publication), publisher_(publisher) {}
  Reading(Reading&& other) noexcept : publication_(std::exchange(other.publication_, nullptr)), publisher_(other.publisher_) {}
  Reading& operator=(Reading&&) = delete;
  ~Reading() {
    if (publication_) publication_->left.fetch_sub(1, std::memory_order_release);
  }
  /// How many bytes from the beginning are there, more than `seen`; waits for the publisher, who is writing. Nothing where they will not come.
  std::optional<std::int64_t> more_than(std::int64_t seen) const {
    for (Patience patience;; patience.wait()) {
      const auto written = publication_->written.load(std::memory_order_acquire);
      if (written == Publication::lost || (written <= seen && patience.doubts() && !publisher_->alive())) return std::nullopt;
      if (written > seen) return written;
    }
  }
  const char* data() const { return reinterpret_cast<const char*>(publication_) + Publication::data_begin; }

 private:
  Publication* publication_;
  const Memory* publisher_;
};

/// Not thread-safe.
class Publications {
 public:
  /// `regions`: of that memory.
  Publications(const Memory& memory, Regions& regions) : memory_(memory), regions_(regions) {}
  /// Room for `size` bytes that so many will read, 1 and more, also beyond what the regions are allowed; nothing where there are no more addresses.
  /// What is returned is where the publication begins in the memory's data. `kept`: what must live until all have read.
  std::optional<std::uint64_t> make(std::uint64_t serial, std::int64_t size, std::uint32_t readers, std::shared_ptr<const void> kept = nullptr);
  /// The publisher has written all, or what it will.
  void written(std::uint64_t begin) { reinterpret_cast<Publication*>(memory_.data() + begin)->left.fetch_sub(1, std::memory_order_release); }
  /// Takes back what has been read by all. Whether nothing is left.
  bool collect();
  /// Nobody will read any more.
  void forget() { out_.clear(); }

 private:
  const Memory& memory_;
  Regions& regions_;
  struct Out {
    Region region;
    std::shared_ptr<const void> kept;
  };
  std::vector<Out> out_;
};

}  // namespace dunnage::transport::shm
