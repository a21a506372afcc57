// bench_bcast_simulated: how long broadcasts would take on networks larger than any machine here.
// Simulates every message of their schedules (simulate.hpp). Writes one JSON object per line.
#include <iostream>
#include <nlohmann/json.hpp>

#include "collective/bcast.hpp"
#include "collective/cost.hpp"
#include "common/command_line.hpp"
#include "platforms.hpp"
#include "simulate.hpp"

namespace {

using namespace dunnage::collective;

bool ring(BcastAlgorithm a) {
  return a == BcastAlgorithm::scatter_ring || a == BcastAlgorithm::scatter_open_ring || a == BcastAlgorithm::chain;
}

struct Options {
  std::vector<std::int32_t> ranks{256, 1024, 4096, 16384, 65536};
  std::vector<std::int64_t> bytes{8 << 10, 64 << 10, 1 << 20, 16 << 20};
  std::string platform;
  std::int32_t per_host = 64,
               most_in_ring = 1024;  // rings among more have too many messages, and are slower than anything else
};

void run(const bench::Platform& platform, std::int32_t ranks, std::int64_t bytes, BcastAlgorithm a, const Options& o) {
  Bcast b{ranks, 0, bytes, 0};
  if (!possible(a, b) || (ring(a) && ranks > o.most_in_ring)) return;
  const auto& n = platform.network;
  b.segment = best_segment(a, b, {n.latency, n.overhead, n.byte_time});
  const auto found = bench::simulate(n, ranks, [&](std::int32_t rank) { return bcast(a, b, rank); });
  std::cout << nlohmann::json{{"record", "result"},
                              {"simulated", true},
                              {"platform", platform.name},
                              {"ranks", ranks},
                              {"ranks_per_host", platform.per_host},
                              {"bytes", bytes},
                              {"algorithm", text(a)},
                              {"segment", b.segment},
                              {"seconds", found.seconds},
                              {"messages", found.messages},
                              {"bytes_sent", found.bytes},
                              {"bytes_between_hosts", found.outside}}
                   .dump()
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  bench::CommandLine line("Simulated broadcasts on large networks; one JSON object per line");
  line.numbers("--ranks", o.ranks, "how many", 2, 1 << 20);
  line.numbers("--bytes", o.bytes, "of the message", std::int64_t{1});
  line.text("--platform", o.platform, "only the one of this name");
  line.number("--ranks-per-host", o.per_host, "of every host", 1);
  line.number("--most-in-ring", o.most_in_ring, "rings and chains among more are left out");
  if (const auto status = line.read(argc, argv)) return *status;
  for (const auto& platform : bench::platforms(o.per_host)) {
    if (!o.platform.empty() && platform.name != o.platform) continue;
    std::cout << nlohmann::json{{"record", "platform"},
                                {"simulated", true},
                                {"name", platform.name},
                                {"text", platform.text},
                                {"ranks_per_host", o.per_host}}
                     .dump()
              << "\n";
    for (const auto ranks : o.ranks)
      for (const auto bytes : o.bytes)
        for (const auto a : all_bcast_algorithms) run(platform, ranks, bytes, a, o);
  }
}
