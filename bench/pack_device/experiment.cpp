#include "experiment.hpp"

#include <algorithm>

#include "common/record.hpp"
#include "common/statistics.hpp"
#include "verify.hpp"

namespace bench {
namespace {

constexpr std::uint64_t cached = 50 << 20;  // bytes; cases that touch more are not measured warm
constexpr std::uint64_t copied = 512 << 20;

nlohmann::json record_of(const Case& subject, const char* kind) {
  return {{"record", kind}, {"pattern", subject.name}, {"start", subject.start}};
}

double median(const Series& one) { return summarize(one.samples).median; }

}  // namespace

Experiment::Experiment(const Device& device, std::uint64_t allocation)
    : device_(device), arena_{DeviceMemory(allocation), DeviceMemory(allocation + 4096)} {}

double Experiment::copy_bandwidth() {
  const std::uint64_t bytes = std::min(copied, arena_.user.bytes()) / 16 * 16;
  Ways ways;
  ways.series.push_back(
      {"memcpy", [&](const Slot& s) { BENCH_CU(cuMemcpyDtoDAsync, s.packed, s.user, bytes, device_.stream()); }});
  if (const Kernel copy = device_.kernel("copy"))
    ways.series.push_back({"copy", [this, copy, bytes](const Slot& s) {
                             device_.launch_over(copy, bytes / 64, s.packed, s.user, bytes / 16);
                           }});
  if (const Kernel empty = device_.kernel("empty"))
    ways.series.push_back({"empty",
                           [this, empty](const Slot&) {
                             empty.launch(device_.stream(), {1, 1, 1}, {1, 1, 1});
                           },
                           true, false});
  measure(ways.series, {{arena_.user.address(), arena_.packed.address()}}, device_, repetitions);
  double fastest = 1e9, launch = 0;
  for (const Series& one : ways.series)
    if (one.moves)
      fastest = std::min(fastest, median(one));
    else
      launch = median(one);
  return 2 * static_cast<double>(bytes) / std::max(fastest - launch, 1e-9);
}

bool Experiment::run(const Case& subject) {
  const Sectors touched = sectors(subject.geometry);
  const std::vector<Slot> places = slots(subject, touched, arena_);
  if (places.empty()) {
    nlohmann::json record = record_of(subject, "skipped");
    record["reason"] = "does not fit into " + std::to_string(arena_.user.bytes()) + " bytes";
    print(record);
    return true;
  }
  const std::uint64_t bytes = payload(subject.geometry);
  const Types types(subject);
  const Probes probes(device_, touched);
  bool right = true;
  for (const std::string& operation : operations) {
    const bool packing = operation == "pack";
    Ways ways;
    Possible here = possible;
    // Plain MPI is slow, and the start hardly matters to it.
    here.plain = possible.plain && subject.start == "zero";
    add_moves(ways, device_, subject, types, packing, here, plain_per_block_);
    verify(ways, subject, places[0], packing);
    for (const Series& one : ways.series) right = right && one.verified;
    probes.add(ways, packing);
    const std::uint64_t traffic = packing ? touched.pack_traffic(bytes) : touched.unpack_traffic(bytes);
    for (const std::string& mode : modes) {
      if (mode == "warm" && sector * touched.touched + bytes > cached) continue;
      for (Series& one : ways.series) one.samples.clear(), one.synchronised.clear();
      measure(ways.series, mode == "cold" ? places : std::vector<Slot>{places[0]}, device_, repetitions);
      nlohmann::json record = record_of(subject, "result");
      record.update({{"kind", subject.kind},
                     {"block", subject.block},
                     {"payload", bytes},
                     {"operation", operation},
                     {"mode", mode},
                     {"traffic", traffic},
                     {"sectors", touched.touched},
                     {"whole_sectors", touched.whole},
                     {"slots", mode == "cold" ? places.size() : 1},
                     {"skipped", ways.skipped},
                     {"series", nlohmann::json::object()}});
      for (const Series& one : ways.series) {
        if (one.samples.empty()) continue;
        nlohmann::json& series = record["series"][one.name] = to_json(one.samples);
        if (one.moves) series["verified"] = one.verified;
        if (one.blocking) record["series"][one.name + ", synchronised"] = to_json(one.synchronised);
      }
      print(record);
      learn(ways, subject);
    }
  }
  return right;
}

// If a way fails, it is left out, and its reason is recorded.
void Experiment::verify(Ways& ways, const Case& subject, const Slot& slot, bool packing) {
  Verifier verifier(device_, arena_, subject);
  std::erase_if(ways.series, [&](Series& one) {
    try {
      const auto timed = [&](const Slot& where) { call(one, where, device_); };
      one.verified = packing ? verifier.pack(slot, timed) : verifier.unpack(slot, timed);
      return false;
    } catch (const std::exception& failure) {
      ways.skipped[one.name] = failure.what();
      return true;
    }
  });
}

void Experiment::learn(const Ways& ways, const Case& subject) {
  const Geometry& g = subject.geometry;
  const auto blocks = static_cast<double>(g.outer.count * g.inner.count * g.blocks);
  for (const Series& one : ways.series)
    if (one.name.starts_with("plain ") && !one.samples.empty())
      plain_per_block_ = std::max(plain_per_block_, median(one) / blocks);
}

bool Experiment::try_pack() {
  const Case subject = *read_case("vector 16 1/2 double", "zero");
  const Types types(subject);
  Ways ways;
  add_moves(ways, device_, subject, types, true, possible, 0);
  const Slot slot = slots(subject, sectors(subject.geometry), arena_).at(0);
  return Verifier(device_, arena_, subject).pack(slot, ways.series.at(0).call);
}

}  // namespace bench
