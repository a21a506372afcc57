// What trials of collectives on device memory have found, for the report.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>

#include "mpi/process/hook.hpp"

namespace dunnage::mpi {

/// Thread-safe.
class CollectiveTrials {
 public:
  struct Key {
    Hook hook;
    bool alike;           // all ranks know how much a rank has for another
    std::uint64_t width;  // of those bytes, or else of all bytes of this rank
    int ranks;            // of the communicator
    auto operator<=>(const Key&) const = default;
  };
  struct Found {
    bool ours;                    // whether Dunnage was chosen
    int our_time, the_mpis_time;  // ns, of the slowest rank
  };

  void tell(const Key& key, const Found& found) {
    const std::lock_guard lock(mutex_);
    all_[key] = found;
  }
  std::map<Key, Found> told() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, Found> all_;
};

}  // namespace dunnage::mpi
