// Data in a process' shared memory that several other ranks of its host read: nonblocking
// broadcasts. The publisher waits for nobody. The memory is used again when all readers have read.
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
  std::uint64_t serial = 0;  // a publisher uses each serial once
  std::int64_t size = 0;
  std::atomic<std::uint32_t> left{0};  // how many readers have not finished, plus 1 until the publisher has written all
  std::atomic<std::int64_t> written{0};  // how many bytes the publisher has written, from the beginning; or `lost`
  static constexpr std::int64_t data_begin = 64;
};
static_assert(sizeof(Publication) <= Publication::data_begin);

/// The publication of another process, which this process has to read once: the destructor counts
/// it as read. Not thread-safe.
class Reading {
 public:
  /// `publisher`: the memory in which the publication stands.
  Reading(Publication* publication, const Memory* publisher) : publication_(publication), publisher_(publisher) {}
  Reading(Reading&& other) noexcept
      : publication_(std::exchange(other.publication_, nullptr)), publisher_(other.publisher_) {}
  Reading& operator=(Reading&&) = delete;
  ~Reading() {
    if (publication_) publication_->left.fetch_sub(1, std::memory_order_release);
  }
  /// Waits until more than `seen` bytes are there, and returns how many are. Returns nothing if
  /// they will not come.
  std::optional<std::int64_t> more_than(std::int64_t seen) const {
    for (Patience patience;; patience.wait()) {
      const auto written = publication_->written.load(std::memory_order_acquire);
      if (written == Publication::lost || (written <= seen && patience.doubts() && !publisher_->alive()))
        return std::nullopt;
      if (written > seen) return written;
    }
  }
  const char* data() const { return reinterpret_cast<const char*>(publication_) + Publication::data_begin; }

 private:
  Publication* publication_;
  const Memory* publisher_;
};

/// Finds what a process has published at `begin` of its memory. Returns nothing if another
/// publication, or none, is there.
std::optional<Reading> find_publication(const Memory& publisher, std::uint64_t begin, std::uint64_t serial,
                                        std::int64_t size);

/// What this process publishes. Thread-safe. What `kept` points to is destroyed without a lock.
class Publications {
 public:
  /// `own`: this process' memory. `room`: its regions.
  Publications(const Memory& own, Room& room) : own_(own), room_(room) {}

  struct Published {
    std::uint64_t begin = 0, serial = 0;  // by which others find it
    char* data = nullptr;
    std::atomic<std::int64_t>* written = nullptr;  // Publication::written
  };
  /// Room for `size` bytes, which `readers` other ranks will read, each once. The room does not
  /// count towards what the regions are allowed. Returns nothing if there are no more addresses.
  /// `kept`: lives until all have read. Nobody waits for the readers of what is `standing`.
  enum class Stay { until_read, standing };
  std::optional<Published> publish(std::int64_t size, std::uint32_t readers, std::shared_ptr<const void> kept = nullptr,
                                   Stay stay = Stay::until_read);
  /// The publisher has written all, or will write no more. `unread`: so many readers will not read.
  void end(const Published& published, std::uint32_t unread = 0) {
    at(published.begin).left.fetch_sub(1 + unread, std::memory_order_release);
  }
  /// Ends what has one reader, which will not read it.
  void withdraw(const Published& published) { end(published, 1); }
  /// Takes back what all have read. Returns whether nothing is left that somebody must read.
  bool collect();
  /// Gives up what is left: nobody will read any more.
  void forget();

 private:
  struct Out {
    Region region;
    std::shared_ptr<const void> kept;
    Stay stay;
  };
  Publication& at(std::uint64_t begin) const { return *reinterpret_cast<Publication*>(own_.data() + begin); }

  const Memory& own_;
  Room& room_;  // its mutex guards everything below
  std::vector<Out> out_;
  std::uint64_t next_serial_ = 1;
};

}  // namespace dunnage::transport::shm
