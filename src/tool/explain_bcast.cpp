#include "tool/explain_bcast.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/format.hpp"
#include "base/settings.hpp"
#include "collective/choose.hpp"
#include "plan/machine_model.hpp"
#include "tool/listing.hpp"
#include "tool/process.hpp"

namespace dunnage::tool {
namespace {

using namespace dunnage::collective;

/// Schedules with more messages are not counted message by message.
constexpr std::int64_t most_counted = std::int64_t{1} << 24;

/// Returns about how many messages all ranks send. A ring has the square of the number of ranks.
std::int64_t about(BcastAlgorithm a, const Bcast& b) {
  const auto segments = in_segments(a) && b.segment > 0 ? (b.bytes + b.segment - 1) / b.segment : b.ranks;
  std::int64_t messages = 0;
  return __builtin_mul_overflow(segments, b.ranks, &messages) ? most_counted + 1 : messages;
}

std::string bytes_text(std::int64_t bytes) { return base::format_bytes(static_cast<std::uint64_t>(bytes)); }
std::string microseconds(double seconds) { return fmt::format("{:.1f} us", 1e6 * seconds); }

/// How many messages and bytes all ranks send.
struct Traffic {
  std::int64_t messages = 0, bytes = 0;
};

/// Returns nothing if they are too many to be counted.
std::optional<Traffic> traffic(BcastAlgorithm a, const Bcast& b) {
  if (about(a, b) > most_counted) return std::nullopt;
  Traffic sum;
  for (std::int32_t rank = 0; rank < b.ranks; ++rank) {
    const auto schedule = bcast(a, b, rank);
    for (const auto& one : schedule.transfers()) {
      if (one.receives()) continue;
      ++sum.messages;
      sum.bytes += one.range.size();
    }
  }
  return sum;
}

void print_algorithms(Listing& list, Json& found, const Bcast& b, const LogGP& network) {
  list.text("  {:<17} {:>10} {:>12} {:>12} {:>14}\n", "algorithm", "messages", "bytes", "segment", "predicted");
  for (const auto a : all_bcast_algorithms) {
    if (!possible(a, b)) continue;
    Bcast one = b;
    one.segment = best_segment(a, b, network);
    const auto segment = in_segments(a) ? one.segment : 0;
    const auto all = traffic(a, one);
    const double seconds = cost(a, one, network);
    list.text("  {:<17} {:>10} {:>12} {:>12} {:>14}\n", text(a), all ? std::to_string(all->messages) : "-",
              all ? bytes_text(all->bytes) : "-", in_segments(a) ? bytes_text(segment) : "-", microseconds(seconds));
    found["algorithms"].push_back({{"algorithm", text(a)},
                                   {"messages", all ? Json(all->messages) : Json(nullptr)},
                                   {"bytes", all ? Json(all->bytes) : Json(nullptr)},
                                   {"segment", in_segments(a) ? Json(segment) : Json(nullptr)},
                                   {"predicted seconds", seconds}});
  }
  if (b.ranks > 1) {
    list.text("  the opened ring saves {} of the {} messages of the ring\n", saved_messages(b.ranks),
              ring_messages(b.ranks));
  }
}

/// The broadcast that is asked about.
struct Question {
  std::int32_t ranks, hosts;
  std::int64_t bytes;

  bool alone() const { return hosts == 1; }
  /// Returns the number of ranks that read what one rank of their host writes, on the host with
  /// the most ranks.
  std::int32_t readers() const { return (ranks + hosts - 1) / hosts - 1; }
  Bcast by_messages() const { return {alone() ? ranks : hosts, 0, bytes, 0}; }
};

/// Returns the cost of an MPI's messages among all ranks of a host. The ranks share the host's
/// memory, as those do that read from the window.
LogGP within_host(const Question& q, const plan::BcastFigures& figures) {
  auto shared = figures.same_host;
  shared.byte += figures.window.reader * q.readers();
  return network(shared);
}

/// Compares the first time with the second, in words.
std::string compared(double seconds, double other) {
  constexpr double clear = 1.005;
  if (other >= clear * seconds) return fmt::format("{:.2f} times faster than", other / seconds);
  if (seconds >= clear * other) return fmt::format("{:.2f} times slower than", seconds / other);
  return "as fast as";
}

std::string said(const Choice& choice) {
  return fmt::format("{} ({})", text(choice.algorithm), microseconds(choice.seconds));
}

/// Prints the terms of the formula, in the form in which the model file has them.
void print_window(const Listing& list, const Question& q, const plan::WindowCosts& window) {
  list.text("  the window: call {:.2f} us + {} x (byte {:.4g} ns + {} reader{} x {:.4g} ns) = {}\n", 1e-3 * window.call,
            bytes_text(q.bytes), window.byte, q.readers(), q.readers() == 1 ? "" : "s", window.reader,
            microseconds(1e-9 * window.time(q.bytes, q.readers())));
}

void print_alone(const Listing& list, Json& found, const Question& q, const plan::BcastFigures& figures) {
  const double seconds = 1e-9 * figures.window.time(q.bytes, q.readers());
  const auto best = choose_bcast(q.by_messages(), within_host(q, figures));
  list.text("\nDunnage: memory that the ranks share, no messages, predicted {}\n", microseconds(seconds));
  print_window(list, q, figures.window);
  list.text("  reason: within a host Dunnage has one way; predicted {} the best by messages, {}\n",
            compared(seconds, best.seconds), said(best));
  found["Dunnage"] = "shared memory";
  found["predicted seconds"] = seconds;
}

void print_between(const Listing& list, Json& found, const Question& q, const plan::BcastFigures& figures) {
  const auto choices = bcast_choices(q.by_messages(), network(figures.other_host));
  const auto& best = choices.front();
  list.text("\nDunnage: {} among one rank of each host, predicted {}, and inside a host memory that its ranks share\n",
            text(best.algorithm), microseconds(best.seconds));
  if (q.readers() > 0) print_window(list, q, figures.window);
  if (choices.size() > 1) {
    list.text("  reason: {} is predicted {} the next, {}\n", text(best.algorithm),
              compared(best.seconds, choices[1].seconds), said(choices[1]));
  }
  found["Dunnage"] = text(best.algorithm);
  found["predicted seconds"] = best.seconds;
}

/// Prints the choice by the figures of one MPI.
void print_choice(Listing& list, Json found, const Question& q, const plan::BcastFigures& figures) {
  found["Dunnage"] = nullptr;  // left to the MPI
  const auto least = q.alone() ? figures.least_window : least_between_hosts;
  if (q.bytes > most_bytes) {
    list.text("\nDunnage: left to the MPI, since it is more than {}\n", bytes_text(most_bytes));
  } else if (least > most_bytes) {
    list.text("\nDunnage: left to the MPI, which was as fast with every length that `dunnage tune` measured\n");
  } else if (q.bytes < least) {
    list.text("\nDunnage: left to the MPI, since it is less than {}\n", bytes_text(least));
  } else if (q.alone()) {
    print_alone(list, found, q, figures);
  } else {
    print_between(list, found, q, figures);
  }
  list.text("\n{}:\n", q.alone()
                           ? "by messages among all ranks of a host, who share its memory (not used; for comparison)"
                           : "between hosts");
  print_algorithms(list, found, q.by_messages(), q.alone() ? within_host(q, figures) : network(figures.other_host));
  list.document["choices"].push_back(std::move(found));
}

/// Says which of the figures that the answer depends on are measured.
std::string origin(const Question& q, const plan::BcastFigures& figures, const plan::MachineModel& model) {
  const plan::BcastFigures built_in;
  std::vector<std::string> parts;
  if (q.readers() > 0 && figures.window != built_in.window) parts.emplace_back("the window");
  if (q.alone() && figures.same_host != built_in.same_host) parts.emplace_back("messages within a host");
  if (!q.alone() && figures.other_host != built_in.other_host) parts.emplace_back("messages between hosts");
  if (parts.empty()) return fmt::format("figures built in; {} has none of these broadcasts", model.path);
  return fmt::format("figures of {} measured: {}, {}", fmt::join(parts, " and "), model.path, model.file.date);
}

/// Prints the choice with each MPI of the model file. If there is no model file, prints the choice
/// by the built-in figures.
void print_choices(Listing& list, const Question& q) {
  std::vector<std::string> complaints;  // `dunnage info` shows them
  const auto model = plan::machine_model(base::Settings::from_environment(environ, complaints).model);
  if (!model.complaint.empty()) fmt::print(stderr, "dunnage explain: {}\n", model.complaint);
  if (model.file.models.empty()) {
    list.text("  figures built in; `dunnage tune --collective bcast` measures this machine's\n");
    return print_choice(list, {{"mpi", nullptr}, {"figures", "built in"}}, q, plan::BcastFigures());
  }
  for (const auto& [library, figures] : model.file.models) {
    const auto name = plan::describe(library), from = origin(q, figures.bcast, model);
    list.text("\n{}: {}\n", name, from);
    print_choice(list, {{"mpi", name}, {"figures", from}}, q, figures.bcast);
  }
}

}  // namespace

int explain_bcast(const ExplainBcastOptions& options) {
  const auto bytes = options.bytes;
  if (bytes > (std::uint64_t{1} << 40)) return fail(fmt::format("explain: --bytes cannot be {}; at most 1 TiB", bytes));
  if (options.hosts > options.ranks)
    return fail(fmt::format("explain: {} ranks cannot be on {} hosts", options.ranks, options.hosts));
  Listing list(options.json);
  list.document = {{"bytes", bytes}, {"ranks", options.ranks}, {"hosts", options.hosts}, {"choices", Json::array()}};
  list.text("broadcast of {} among {} ranks on {} host{}\n", base::format_bytes(bytes), options.ranks, options.hosts,
            options.hosts == 1 ? "" : "s");
  if (options.ranks < 2 || bytes == 0) {
    list.text("  nothing to do: left to the MPI\n");
    list.finish();
    return 0;
  }
  print_choices(list, {options.ranks, options.hosts, static_cast<std::int64_t>(bytes)});
  list.text(
      "\nThese figures alone do not decide who does it. If all ranks have Dunnage, the MPI does the first four\n"
      "broadcasts of a size on a communicator. Dunnage does the next four, or eleven of the communicator's first\n"
      "size. From then on Dunnage does them if it was at least 5 % faster, and else the MPI (DUNNAGE_BCAST).\n");
  list.finish();
  return 0;
}

}  // namespace dunnage::tool
