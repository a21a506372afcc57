// The cases that are measured. All cases take turns until each is known, or until the time is up.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/evict.hpp"
#include "common/record.hpp"
#include "noncontiguous_send/buffers.hpp"
#include "tune/known.hpp"

namespace bench::tune {

/// A case. Both ranks have the same cases in the same order.
class Case {
 public:
  virtual ~Case() = default;
  /// Adds one sample to each series.
  virtual void sample(int turn) = 0;
  /// Returns whether the bytes that Dunnage delivers are right. The answer is the same on both
  /// ranks.
  virtual bool right() = 0;
  /// Returns what was sampled so far. Valid on rank 0.
  virtual AllSeries series() const = 0;
  /// Returns the results. Valid on rank 0.
  virtual nlohmann::json record() const = 0;
};
using Cases = std::vector<std::unique_ptr<Case>>;

/// The memory that all cases use. Strided data takes twice its payload.
struct Memory {
  explicit Memory(std::size_t most) : from(most / 4), to(most / 4), packed(most / 8) {}
  const Array from, to, packed;  // numbers of doubles
  const Evictor evictor;

  void evict(const Array& array, std::size_t bytes) const {
    evictor.line_range(reinterpret_cast<const std::byte*>(array.data()), bytes);
  }
};

using Clock = std::chrono::steady_clock;
inline double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The lengths of blocks in bytes.
inline constexpr long blocks[] = {8, 64, 512, 4096};

/// Returns how many calls to time together, so that the clock's cost does not count and a sample is
/// short.
inline int batch(long bytes) { return static_cast<int>(std::max(100'000 / (bytes + 400), 1L)); }

void add_copies(Cases& cases, const Memory& memory, int rank);
void add_packs(Cases& cases, const Memory& memory, int rank, long most);
/// Adds messages with payloads from `least` to `most`. If the first exchanges of a payload show
/// that larger payloads would take longer than `seconds`, those are left out. If `all` is false,
/// only strided senders are added. Returns whether all bytes were right.
bool add_messages(Cases& cases, const Memory& memory, int rank, long least, long most, double seconds, bool all);

/// Adds the MPI's own messages, past Dunnage: one at a time, and many in a row.
void add_network(Cases& cases, const Memory& memory, int rank, long most);

}  // namespace bench::tune
