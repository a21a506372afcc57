#include "tool/explain_bcast.hpp"

#include <fmt/format.h>

#include "base/format.hpp"
#include "collective/choose.hpp"
#include "tool/process.hpp"

namespace dunnage::tool {
namespace {

using namespace dunnage::collective;

/// Schedules of more ranks than that are not counted message by message: rings have the square of it.
constexpr int most_counted = 4096;

std::string microseconds(double seconds) { return fmt::format("{:.1f} us", 1e6 * seconds); }

/// Messages and bytes of all ranks.
std::string counted(BcastAlgorithm a, const Bcast& b) {
    if (b.ranks > most_counted) return fmt::format("{:>10} {:>12}", "-", "-");
    std::int64_t messages = 0, bytes = 0;
    for (std::int32_t rank = 0; rank < b.ranks; ++rank) {
        const auto schedule = bcast(a, b, rank);
        for (const auto& one : schedule.transfers()) {
            if (one.receives()) continue;
            ++messages;
            bytes += one.range.size();
        }
    }
    return fmt::format("{:>10} {:>12}", messages, base::format_bytes(static_cast<std::uint64_t>(bytes)));
}

void print_algorithms(const Bcast& b, const LogGP& network) {
    fmt::print("  {:<17} {:>10} {:>12} {:>12} {:>14}\n", "algorithm", "messages", "bytes", "segment", "predicted");
    for (const auto a : all_bcast_algorithms) {
        if (!possible(a, b)) continue;
        Bcast one = b;
        one.segment = best_segment(a, b, network);
        const auto segment = in_segments(a) ? base::format_bytes(static_cast<std::uint64_t>(one.segment)) : "-";
        fmt::print("  {:<17} {} {:>12} {:>14}\n", text(a), counted(a, one), segment, microseconds(cost(a, one, network)));
    }
    if (b.ranks > 1) {
        fmt::print("  the opened ring saves {} of the {} messages of the ring\n", saved_messages(b.ranks), ring_messages(b.ranks));
    }
}

}  // namespace

int explain_bcast(const ExplainBcastOptions& options) {
    const auto bytes = options.bytes;
    if (bytes > (std::uint64_t{1} << 40)) return fail(fmt::format("explain: --bytes cannot be {}; at most 1 TiB", bytes));
    if (options.hosts > options.ranks) return fail(fmt::format("explain: {} ranks cannot be on {} hosts", options.ranks, options.hosts));
    const auto size = static_cast<std::int64_t>(bytes);
    fmt::print("broadcast of {} among {} ranks on {} host{}\n", base::format_bytes(bytes), options.ranks, options.hosts, options.hosts == 1 ? "" : "s");
    if (options.ranks < 2 || bytes == 0) {
        fmt::print("  nothing to do: left to the MPI\n");
        return 0;
    }
    const Bcast all{options.ranks, 0, size, 0}, among{options.hosts, 0, size, 0};
    const bool alone = options.hosts == 1;
    const auto least = alone ? least_within_host : least_between_hosts;
    if (size < least) {
        fmt::print("\nDunnage: left to the MPI, since it is less than {}\n", base::format_bytes(static_cast<std::uint64_t>(least)));
    } else if (size > most_bytes) {
        fmt::print("\nDunnage: left to the MPI, since it is more than {}\n", base::format_bytes(static_cast<std::uint64_t>(most_bytes)));
    } else if (alone) {
        fmt::print("\nDunnage: memory that the ranks share, no messages, predicted {}\n", microseconds(window_cost(size)));
    } else {
        const auto choice = choose_bcast(among, between_hosts);
        fmt::print("\nDunnage: {} among one rank of each host, predicted {}, and inside a host memory that its ranks share\n", text(choice.algorithm),
                   microseconds(choice.seconds));
    }
    fmt::print("\n{}:\n", alone ? "by messages within a host (not used; for comparison)" : "between hosts");
    print_algorithms(alone ? all : among, alone ? within_host : between_hosts);
    fmt::print("\nThe figures are built in, not measured here. Who does it is not decided by them: where all ranks have Dunnage, the first four\n"
               "broadcasts of a size on a communicator are the MPI's, the next four Dunnage's, and then it is the MPI's again unless\n"
               "Dunnage was at least 5 % faster (DUNNAGE_BCAST).\n");
    return 0;
}

}  // namespace dunnage::tool
