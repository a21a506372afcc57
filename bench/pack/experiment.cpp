#include "experiment.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "buffer.hpp"
#include "common/past.hpp"
#include "common/record.hpp"
#include "copy.hpp"
#include "footprint.hpp"
#include "measure.hpp"

namespace bench {

namespace {

constexpr std::size_t guard = 64;  // bytes after the payload that no call may touch

/// The buffers and the datatype of one pattern, and every way of moving its bytes.
class Subject {
 public:
  explicit Subject(const Layout& layout)
      : layout_(layout), user_(layout.buffer_bytes, 1), type_(layout.datatype()), packed_(0, 0) {
    int size = 0;
    MPI_Type_size(type_, &size);
    payload_ = static_cast<std::size_t>(size) * static_cast<std::size_t>(layout.count);
    packed_ = Buffer(payload_ + guard, 17);
    footprint_ = footprint(layout_, user_, payload_);
    fill(user_.bytes(), 1);
    fill(packed_.bytes(), 2);
  }

  std::size_t payload() const { return payload_; }
  const Footprint& touched() const { return footprint_; }
  Buffer& user() { return user_; }
  Buffer& packed() { return packed_; }

  using Pack = decltype(&MPI_Pack);
  using Unpack = decltype(&MPI_Unpack);
  void pack(Pack function) {
    int position = 0;
    function(address(), layout_.count, type_, packed_.data(), static_cast<int>(payload_), &position, MPI_COMM_SELF);
  }
  void unpack(Unpack function) {
    int position = 0;
    function(packed_.data(), static_cast<int>(payload_), &position, address(), layout_.count, type_, MPI_COMM_SELF);
  }
  void pack_by_hand() { layout_.pack(address(), packed_.data()); }
  void unpack_by_hand() { layout_.unpack(address(), packed_.data()); }
  /// Returns the loop past the caches for this operation. It may be empty.
  std::function<void()> past_caches(Operation operation) {
    const auto& loop = operation == Operation::pack ? layout_.pack_past_caches : layout_.unpack_past_caches;
    if (!loop) return {};
    return [this, &loop] { loop(address(), packed_.data()); };
  }

  void evict(const Evictor& evictor) const {
    for (const auto& run : footprint_.runs)
      evictor.line_range(user_.data() + run.first * cache_line, run.count * cache_line);
    evictor.line_range(packed_.data(), packed_.size());
  }

 private:
  std::byte* address() { return user_.data() + layout_.origin; }

  Layout layout_;
  Buffer user_;
  Datatype type_;
  Buffer packed_;
  std::size_t payload_ = 0;
  Footprint footprint_;
};

/// For every series that claims to do the operation, returns whether its result equals that of the
/// hand-written loop. Each starts from a poisoned destination, and every byte of the destination
/// counts.
std::map<std::string, bool> verify(Buffer& destination, std::vector<Series>& series) {
  const auto result_of = [&destination](Series& one) {
    fill(destination.bytes(), 3);
    one.call();
  };
  const auto hand = std::find_if(series.begin(), series.end(), [](const Series& one) { return one.name == "hand"; });
  result_of(*hand);
  const std::vector<std::byte> expected(destination.bytes().begin(), destination.bytes().end());

  std::map<std::string, bool> verified;
  for (Series& one : series) {
    if (&one == &*hand) continue;
    result_of(one);
    verified[one.name] = std::memcmp(destination.data(), expected.data(), expected.size()) == 0;
  }
  return verified;
}

const char* name(Operation operation) { return operation == Operation::pack ? "pack" : "unpack"; }
const char* name(Size size) { return size == Size::large ? "large" : "small"; }
const char* name(Kind kind) {
  switch (kind) {
    case Kind::contiguous: return "contiguous";
    case Kind::regular: return "regular";
    case Kind::irregular: return "irregular";
    case Kind::transpose: return "transpose";
  }
  return "";
}

std::vector<Series> ways(Subject& subject, Operation operation, bool dunnage) {
  std::vector<Series> series;
  if (operation == Operation::pack) {
    series.push_back({"plain", [&, past = BENCH_PAST(MPI_Pack)] { subject.pack(past); }});
    if (dunnage) series.push_back({"dunnage", [&] { subject.pack(MPI_Pack); }});
    series.push_back({"hand", [&] { subject.pack_by_hand(); }});
  } else {
    series.push_back({"plain", [&, past = BENCH_PAST(MPI_Unpack)] { subject.unpack(past); }});
    if (dunnage) series.push_back({"dunnage", [&] { subject.unpack(MPI_Unpack); }});
    series.push_back({"hand", [&] { subject.unpack_by_hand(); }});
  }
  if (auto loop = subject.past_caches(operation)) series.push_back({"past caches", std::move(loop)});
  return series;
}

}  // namespace

std::vector<nlohmann::json> Experiment::run(const Pattern& pattern, const Layout& layout) const {
  const bool cold = pattern.size == Size::large;
  Subject subject(layout);
  std::vector<nlohmann::json> records;
  for (const Operation operation : operations) {
    const std::size_t traffic = operation == Operation::pack ? subject.touched().pack_traffic(subject.payload())
                                                             : subject.touched().unpack_traffic(subject.payload());
    std::vector<Series> series = ways(subject, operation, dunnage);
    auto& destination = operation == Operation::pack ? subject.packed() : subject.user();
    const auto verified = verify(destination, series);

    // Two copies move as many bytes as must cross memory. They show how fast this machine can do
    // that.
    const std::size_t half = std::max<std::size_t>(traffic / 2, 1);
    Buffer from(std::max(subject.payload(), half), 5), to(std::max(subject.payload(), half), 29);
    fill(from.bytes(), 4);
    series.push_back({"memcpy", [&] { plain_copy(to.data(), from.data(), subject.payload()); }});
    series.push_back({"copy", [&] { plain_copy(to.data(), from.data(), half); }});
    series.push_back({"streaming copy", [&] { streaming_copy(to.data(), from.data(), half); }});

    if (cold)
      measure_cold(series, cold_repetitions, [&] {
        subject.evict(evictor);
        evictor.line_range(from.data(), from.size());
        evictor.line_range(to.data(), to.size());
        evictor.finish();
      });
    else
      measure_warm(series, warm_repetitions);

    nlohmann::json record = {
        {"record", "result"},           {"pattern", pattern.name},        {"size", name(pattern.size)},
        {"kind", name(pattern.kind)},   {"mode", cold ? "cold" : "warm"}, {"operation", name(operation)},
        {"payload", subject.payload()}, {"buffer", layout.buffer_bytes},  {"traffic", traffic}};
    for (const Series& one : series) record["series"][one.name] = to_json(one.samples);
    for (const auto& [which, equal] : verified) record["series"][which]["verified"] = equal;
    const double fastest = std::min(record["series"]["copy"]["median"].get<double>(),
                                    record["series"]["streaming copy"]["median"].get<double>());
    record["copy_bandwidth"] = 2.0 * static_cast<double>(half) / fastest;
    record["limit"] = static_cast<double>(traffic) / (2.0 * static_cast<double>(half)) * fastest;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace bench
