#include "cuda_aware/suite.hpp"

#include <mpi.h>

#include <algorithm>

#include "common/record.hpp"

namespace bench {

namespace {
// Seconds; a message that takes less does not predict what a larger one takes.
constexpr double any_message = 1e-3;
}  // namespace

bool Suite::Pace::fits(const Options& options, double units) const {
  int fits = unit * units * (options.effort.least + 2) <= options.too_long;
  MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return fits != 0;
}

int Suite::window_length(const Shape& shape) const {
  const std::size_t fit = most_ / Window{shape, 1}.step();
  return static_cast<int>(std::min<std::size_t>(fit, static_cast<std::size_t>(options_.window)));
}

void Suite::one(const Name& name, Buffers& buffers, const Make& make, Pace& pace, double units) {
  const Window& window = name.window;
  nlohmann::json record = {{"record", "result"},
                           {"memory", name.memory},
                           {"pattern", bench::name(name.operation)},
                           {"bytes", window.shape.bytes},
                           {"block", window.shape.block},
                           {"window", window.length},
                           {"buffers", name.fresh ? "fresh" : "reused"}};
  const char* reason = nullptr;
  if (window.length < 1 || window.bytes() > buffers.bytes())
    reason = "memory";
  else if (!pace.fits(options_, units))
    reason = "time";
  if (reason) {
    record.update({{"record", "skipped"}, {"reason", reason}});
    if (rank_ == 0) print(record);
    return;
  }
  const auto exchange = make(name.operation, buffers, window);
  Series series = measure(*exchange, buffers, pattern_, options_.effort, name.fresh, options_.damage());
  right_ = right_ && series.right;
  record["verified"] = series.right;
  record["seconds"] = quantiles(std::move(series.seconds));
  const double took = record["seconds"]["p50"].get<double>() * (name.operation == Operation::latency ? 2 : 1);
  pace.unit = std::max(took - any_message, 0.0) / units;
  if (rank_ == 0) print(record);
}

void Suite::contiguous(const std::string& memory, Kind kind, const Make& make) {
  if (options_.bytes.empty()) return;
  std::size_t needed = 0;
  for (const std::size_t bytes : options_.bytes) {
    const Window window{{bytes, 0}, std::max(window_length({bytes, 0}), 1)};
    if (window.bytes() <= most_) needed = std::max(needed, window.bytes());
  }
  Buffers buffers(kind, needed);
  Pace latency, singly[2], windowed[2];
  for (const std::size_t bytes : options_.bytes) {
    const Shape shape{bytes, 0};
    const auto size = static_cast<double>(bytes);
    one({memory, Operation::latency, {shape, 1}}, buffers, make, latency, size);
    for (const int i : {0, 1}) {
      const Operation operation = i == 0 ? Operation::one_way : Operation::both_ways;
      one({memory, operation, {shape, 1}}, buffers, make, singly[i], size);
      const int length = window_length(shape);
      if (length > 1) one({memory, operation, {shape, length}}, buffers, make, windowed[i], size * length);
    }
  }
}

void Suite::strided(Kind kind, const Make& make) {
  if (options_.strided_bytes.empty() || options_.blocks.empty()) return;
  std::size_t needed = 0;
  for (const std::size_t bytes : options_.strided_bytes) {
    const Window window{{bytes, 4}, std::max(window_length({bytes, 4}), 1)};
    if (window.bytes() <= most_) needed = std::max(needed, window.bytes());
  }
  Buffers buffers(kind, needed);
  // If an MPI moves block by block, this is the time of a block. Large blocks come first, so that
  // their times predict those of small blocks.
  Pace latency, windowed;
  std::vector<std::size_t> blocks = options_.blocks;
  std::sort(blocks.rbegin(), blocks.rend());
  for (const std::size_t bytes : options_.strided_bytes)
    for (const std::size_t block : blocks) {
      const Shape shape{bytes, block};
      const double count = static_cast<double>(bytes) / static_cast<double>(block);
      const int length = window_length(shape);
      one({name(kind), Operation::latency, {shape, 1}}, buffers, make, latency, 2 * count);
      if (windowed.unit == 0) windowed = latency;
      if (length > 1) one({name(kind), Operation::one_way, {shape, length}}, buffers, make, windowed, count * length);
    }
}

void Suite::fresh(Kind kind, const Make& make) {
  for (const std::size_t bytes : options_.fresh_bytes) {
    const Window window{{bytes, 0}, 1};
    Buffers buffers(kind, std::min(window.bytes(), most_));
    Pace none;
    one({name(kind), Operation::latency, window, true}, buffers, make, none, 1);
  }
}

void Suite::skip(const std::string& memory, const std::string& reason) const {
  if (rank_ == 0) print({{"record", "skipped"}, {"memory", memory}, {"reason", reason}});
}

}  // namespace bench
