// Threads that help with the packing of large data, if the user allows them (DUNNAGE_THREADS).
//
// The thread of the MPI call and its helpers take parts of the work one after the other, until none
// is left. So a helper that comes late, or never, costs no more than the part that it has begun.
// Helpers sleep while there is nothing to do. If a call waits long for its helpers, their cores are
// busy: then the next calls go without them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.hpp"

namespace dunnage::pack {

/// Thread-safe. One thread at a time has the helpers; the others work alone meanwhile.
class Helpers {
 public:
  /// Does bytes [begin, end) of the work. Called in several threads at a time. Must not throw.
  using Work = base::FunctionRef<void(std::int64_t begin, std::int64_t end)>;
  /// In bytes: less work is not shared. To wake a helper takes some tens of microseconds.
  static constexpr std::int64_t least = 1 << 20;

  Helpers() = default;
  ~Helpers() { stop(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  /// Sets how many helpers there may be. They begin when there is work for them. There are never
  /// more than the cores on which the thread of that call may run, less one.
  void allow(int helpers) { allowed_.store(helpers, std::memory_order_relaxed); }
  /// Whether work of so many bytes may be shared.
  bool help_with(std::int64_t bytes) const { return bytes >= least && allowed_.load(std::memory_order_relaxed) > 0; }
  /// Does bytes [begin, end) of the work in parts. Each but the first begins so many bytes after
  /// begin: `lead` and a multiple of 64. Returns when all is done.
  void share(std::int64_t begin, std::int64_t end, std::int64_t lead, Work work);
  /// Ends the helpers. They begin again if there is work for them.
  void stop();

  struct Counts {
    std::uint64_t shared = 0, helped = 0;  // bytes of shared work, and of those what helpers did
  };
  Counts counts() const;

 private:
  struct Job {
    std::int64_t begin, end, lead, part;  // bytes
    const Work* work;
    std::int64_t start_of(std::int64_t i) const { return i == 0 ? begin : std::min(begin + lead + i * part, end); }
  };
  bool begin_threads();
  void run();
  std::int64_t take_parts();
  void wake();
  void rest_if_late(std::int64_t waited, std::int64_t took);

  std::atomic<int> allowed_{0};
  std::mutex mutex_;  // guards the members up to the next comment
  std::vector<std::thread> threads_;
  int process_ = 0;  // whose threads they are: a child of fork() has none of them
  int rest_ = 0;     // so many calls go without helpers
  int next_rest_ = 0;
  std::atomic<std::uint64_t> shared_{0}, helped_{0};  // for counts()

  // The job that is under way. Whoever takes a part adds one to `state_`: the number of the job,
  // its parts, and the next part.
  Job job_{};
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::int64_t> done_{0};  // parts that helpers have done
  std::atomic<int> calls_{0};          // helpers sleep until it changes
  std::atomic<bool> stopping_{false};
};

/// The helpers of this process.
Helpers& helpers();

}  // namespace dunnage::pack
