#include "mpi/process/report.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/machine.hpp"
#include "device/driver.hpp"
#include "device/launches.hpp"
#include "mpi/process/process.hpp"
#include "mpi/process/write_output.hpp"
#include "pack/cpu/helpers.hpp"

namespace dunnage::mpi {
namespace {

// How many counters a Portion has: those of add_portion(), in that order.
constexpr std::size_t portion = 4;
// Per hook: calls by reason, then bytes, nanoseconds, tickets, rings and channels, then messages on
// device memory by their ways, then a portion for each class of sizes.
constexpr std::size_t gpu_totals = plan::reasons + 5, size_totals = gpu_totals + plan::gpu_ways;
constexpr std::size_t row = size_totals + plan::size_classes * portion;
using Totals = std::vector<std::uint64_t>;
// Behind the hooks' rows: what came into device memory, and the launches of this process.
constexpr std::size_t fetch_totals = hook_count * row;
// Behind them: the bytes that were packed with helpers, and those that the helpers have packed.
constexpr std::size_t helper_totals = fetch_totals + 6;
// Behind all totals: what a rank has sent to others, a portion for each of these ranks. It is not
// summed over the ranks.
constexpr std::size_t peer_totals = helper_totals + 2;

void add_portion(Totals& totals, const plan::Portion& one) {
  for (const auto* counter : {&one.accelerated, &one.declined, &one.bytes, &one.nanoseconds})
    totals.push_back(counter->load());
}

/// What one rank has sent to another. Ranks are those of MPI_COMM_WORLD; -1: all other receivers.
struct Link {
  int from, to;
  std::array<std::uint64_t, portion> figures;  // as in a Portion
  std::uint64_t calls() const { return figures[0] + figures[1]; }
};
using Links = std::vector<Link>;
constexpr std::size_t most_links = 32;  // that a rank sends: those with most bytes and calls

/// Which collectives a trial was about.
std::string text_of(const CollectiveTrials::Key& key) {
  const auto ranks = fmt::format("device memory, {} rank{}", key.ranks, key.ranks == 1 ? "" : "s");
  if (key.width == 0) return ranks + ", no data of this rank";
  return fmt::format("{}, {} and more {}", ranks, base::format_bytes(std::uint64_t{1} << (key.width - 1)),
                     key.alike ? "for another" : "of this rank");
}

/// The busiest first: by the bytes of accelerated calls, then by calls.
void sort_links(Links& links) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::tuple(b.figures[2], b.calls(), a.from, a.to) < std::tuple(a.figures[2], a.calls(), b.from, b.to);
  });
}

Links local_links() {
  Links links;
  Totals figures;
  const auto take = [&](int to, const plan::Portion& one) {
    figures.clear();
    add_portion(figures, one);
    Link link{process->rank, to, {}};
    std::copy(figures.begin(), figures.end(), link.figures.begin());
    if (link.calls()) links.push_back(link);
  };
  const auto& sends = process->breakdown->sends;
  for (const auto& place : sends.places()) take(place.key.load(), place.value);
  take(-1, sends.others);
  sort_links(links);
  for (; links.size() > most_links; links.pop_back()) {
    Link& rest = links[most_links - 1];
    rest.to = -1;
    for (std::size_t i = 0; i < portion; ++i) rest.figures[i] += links.back().figures[i];
  }
  return links;
}

Totals local_totals() {
  Totals totals;
  std::size_t hook = 0;
  for (const auto& count : *process->counts) {
    for (const auto& calls : count.calls) totals.push_back(calls.load());
    totals.push_back(count.bytes.load());
    totals.push_back(count.nanoseconds.load());
    totals.push_back(count.tickets.load());
    totals.push_back(count.rings.load());
    totals.push_back(count.channels.load());
    for (const auto& messages : count.gpu_ways) totals.push_back(messages.load());
    for (const auto& one : process->breakdown->sizes[hook++]) add_portion(totals, one);
  }
  const auto& fetches = process->fetches;
  const auto& launches = device::launches;
  for (const auto* one :
       {&fetches.messages, &fetches.groups, &fetches.later, &launches.kernels, &launches.copies, &launches.waits})
    totals.push_back(one->load());
  const auto helped = pack::helpers().counts();
  totals.insert(totals.end(), {helped.shared, helped.helped});
  return totals;
}

/// The first line, or MPICH's two words of it: enough to know the library by.
std::string short_version() {
  auto version = library_version(process->own);
  version = version.substr(0, version.find('\n'));
  std::replace(version.begin(), version.end(), '\t', ' ');
  const auto both = [](char a, char b) { return a == ' ' && b == ' '; };
  version.erase(std::unique(version.begin(), version.end(), both), version.end());
  return version.substr(0, version.find(", package"));
}

/// The settings that differ from their defaults, but for the report's own and for the roster, which
/// has a key.
nlohmann::ordered_json changed_settings() {
  const base::SettingsFields defaults;
  nlohmann::ordered_json changed = nlohmann::ordered_json::object();
  for (const auto& setting : base::setting_table()) {
    if (setting.name == "DUNNAGE_REPORT" || setting.name == "DUNNAGE_ROSTER") continue;
    if (auto value = setting.show(process->settings); value != setting.show(defaults))
      changed[std::string(setting.name)] = std::move(value);
  }
  return changed;
}

nlohmann::ordered_json json_of(const std::uint64_t* figures) {
  return {{"accelerated", figures[0]},
          {"declined", figures[1]},
          {"bytes", figures[2]},
          {"seconds", static_cast<double>(figures[3]) * 1e-9}};
}

nlohmann::ordered_json sizes_to_json(const std::uint64_t* totals) {
  nlohmann::ordered_json sizes = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < plan::size_classes; ++s) {
    const auto* one = totals + s * portion;
    if (one[0] + one[1] == 0) continue;
    nlohmann::ordered_json size = nlohmann::ordered_json::object();
    if (s + 1 < plan::size_classes) size["up to"] = plan::largest_of_class(s);
    size.update(json_of(one));
    sizes.push_back(std::move(size));
  }
  return sizes;
}

nlohmann::ordered_json links_to_json(Links links) {
  constexpr std::size_t most_shown = 256;
  sort_links(links);
  if (links.size() > most_shown) links.resize(most_shown);
  nlohmann::ordered_json peers = nlohmann::ordered_json::array();
  for (const Link& link : links) {
    nlohmann::ordered_json peer = {{"from", link.from}};
    if (link.to >= 0) peer["to"] = link.to;
    peer.update(json_of(link.figures.data()));
    peers.push_back(std::move(peer));
  }
  return peers;
}

/// Those of this rank, by the time and then the number of their calls.
nlohmann::ordered_json call_sites_to_json() {
  constexpr std::size_t most_shown = 64;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, const CallSites::Places::Place*>> used;
  for (const auto& place : process->breakdown->sites.sites()) {
    std::uint64_t calls = 0;
    for (const auto& n : place.value.by_reason) calls += n.load();
    if (calls) used.emplace_back(place.value.portion.nanoseconds.load(), calls, &place);
  }
  std::sort(used.rbegin(), used.rend());
  if (used.size() > most_shown) used.resize(most_shown);
  nlohmann::ordered_json sites = nlohmann::ordered_json::array();
  for (const auto& [nanoseconds, calls, found] : used) {
    const auto place = code_place(found->key.load());
    const CallSite* const site = &found->value;
    if (place.file.empty()) continue;
    nlohmann::ordered_json one = {
        {"call", hook_names[site->hook.load()]}, {"file", place.file}, {"offset", place.offset}};
    if (!place.function.empty()) one["function"] = place.function;
    one["accelerated"] = site->by_reason[0].load();
    one["declined"] = nlohmann::ordered_json::object();
    for (std::size_t r = 1; r < plan::reasons; ++r)
      if (const auto n = site->by_reason[r].load()) one["declined"][std::string(plan::reason_text[r])] = n;
    one["bytes"] = site->portion.bytes.load();
    one["seconds"] = static_cast<double>(nanoseconds) * 1e-9;
    sites.push_back(std::move(one));
  }
  return sites;
}

nlohmann::ordered_json to_json(const Totals& totals, const Links& links, int ranks) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::object();
  for (int h = 0; h < hook_count; ++h) {
    const auto* t = &totals[static_cast<std::size_t>(h) * row];
    nlohmann::ordered_json declined = nlohmann::ordered_json::object();
    for (std::size_t r = 1; r < plan::reasons; ++r)
      if (t[r]) declined[std::string(plan::reason_text[r])] = t[r];
    if (!t[0] && declined.empty()) continue;
    calls[hook_names[h]] = {{"accelerated", t[0]},
                            {"declined", declined},
                            {"bytes", t[plan::reasons]},
                            {"seconds", static_cast<double>(t[plan::reasons + 1]) * 1e-9},
                            {"by ticket", t[plan::reasons + 2]}};
    if (const auto n = t[plan::reasons + 3]) calls[hook_names[h]]["through rings"] = n;
    if (const auto n = t[plan::reasons + 4]) calls[hook_names[h]]["by channel"] = n;
    for (std::size_t w = 0; w < plan::gpu_ways; ++w)
      if (const auto n = t[gpu_totals + w])
        calls[hook_names[h]]["device memory"][std::string(plan::gpu_way_text[w])] = n;
    if (auto sizes = sizes_to_json(t + size_totals); !sizes.empty()) calls[hook_names[h]]["by size"] = std::move(sizes);
  }
  nlohmann::ordered_json report = {{"mpi", short_version()},
                                   {"machine", base::describe(base::this_machine())},
                                   {"settings", changed_settings()},
                                   {"ranks", ranks},
                                   {"calls", calls}};
  if (!links.empty()) report["peers"] = links_to_json(links);
  if (auto sites = call_sites_to_json(); !sites.empty()) report["call sites"] = std::move(sites);
  for (const auto& [data, operation, exchanges, found] : process->pack_trials.told()) {
    nlohmann::ordered_json times = nlohmann::ordered_json::object();
    for (std::size_t p = 0; p < plan::packers; ++p)
      if (found.nanoseconds[p] > 0) times[std::string(plan::packer_text[p])] = 1e-9 * found.nanoseconds[p];
    report["trials"].push_back(
        {{"call", fmt::format("{}{}", exchanges ? plan::nonblocking : "", plan::text(operation))},
         {"data", plan::text(data)},
         {"spread", data.most_spread()},
         {"mixed", data.mixed},
         {"choice", plan::text(found.choice)},
         {"over", found.settled},
         {"seconds", times}});
  }
  for (const auto& [key, found] : process->collective_trials.told())
    report["trials of collectives"].push_back(
        {{"call", hook_names[static_cast<std::size_t>(key.hook)]},
         {"data", text_of(key)},
         {"choice", found.ours ? "Dunnage" : "the MPI"},
         {"over", true},
         {"seconds", {{"Dunnage", 1e-9 * found.our_time}, {"the MPI", 1e-9 * found.the_mpis_time}}}});
  const auto* fetched = &totals[fetch_totals];
  if (fetched[1] + fetched[3] + fetched[4] + fetched[5] > 0)
    report["device work"] = {
        {"messages fetched", fetched[0]}, {"groups", fetched[1]}, {"groups that came later", fetched[2]},
        {"kernels", fetched[3]},          {"copies", fetched[4]}, {"waits for the default stream", fetched[5]}};
  if (process->settings.threads > 1)
    report["helpers"] = {{"bytes of shared work", totals[helper_totals]},
                         {"bytes of helpers", totals[helper_totals + 1]}};
  if (const char* why = device::why_driver_is_unused()) report["devices"] = why;
  return report;
}

/// Paths may hold anything. What is no UTF-8 in them is replaced, and does not cost the report.
std::string to_file(const nlohmann::ordered_json& report) {
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string to_text(const nlohmann::ordered_json& report) {
  std::string text =
      fmt::format("dunnage: report for {} ranks of {}\n", report["ranks"].get<int>(), report["mpi"].get<std::string>());
  for (const auto& [name, value] : report["settings"].items())
    text += fmt::format("  {}={}\n", name, value.get<std::string>());
  if (report.contains("devices")) text += fmt::format("  {}\n", report["devices"].get<std::string>());
  if (report["calls"].empty()) text += "  no call that Dunnage knows was made\n";
  for (const auto& [name, call] : report["calls"].items()) {
    const auto accelerated = call["accelerated"].get<std::uint64_t>();
    text += fmt::format("  {:<22} {:>10} accelerated", name, accelerated);
    if (const auto bytes = call["bytes"].get<std::uint64_t>(); bytes)
      text += fmt::format(", {} in {}", base::format_bytes(bytes), base::format_seconds(call["seconds"].get<double>()));
    if (const auto tickets = call["by ticket"].get<std::uint64_t>(); tickets)
      text += fmt::format(", {} by ticket", tickets);
    if (call.contains("through rings"))
      text += fmt::format(", {} through rings", call["through rings"].get<std::uint64_t>());
    if (call.contains("by channel")) text += fmt::format(", {} by channel", call["by channel"].get<std::uint64_t>());
    text += '\n';
    for (const auto& [reason, n] : call["declined"].items())
      text += fmt::format("  {:<22} {:>10} declined: {}\n", "", n.get<std::uint64_t>(), reason);
    if (call.contains("device memory"))
      for (const auto& [way, n] : call["device memory"].items())
        text += fmt::format("  {:<22} {:>10} {}\n", "", n.get<std::uint64_t>(), way);
  }
  if (report.contains("device work")) {
    const auto& work = report["device work"];
    const auto n = [&](const char* key) { return work[key].get<std::uint64_t>(); };
    text += fmt::format(
        "  {:<22} {:>10} messages fetched in {} groups, of which {} came later; {} kernels and {} copies\n",
        "device work", n("messages fetched"), n("groups"), n("groups that came later"), n("kernels"), n("copies"));
    if (const auto waits = n("waits for the default stream"))
      text += fmt::format("  {:<22} {:>10} calls found work in the default stream, and waited for it\n", "", waits);
  }
  if (report.contains("helpers")) {
    const auto bytes = [&](const char* key) { return report["helpers"][key].get<std::uint64_t>(); };
    const auto shared = bytes("bytes of shared work");
    const auto what = shared ? fmt::format("packed {} of {}", base::format_bytes(bytes("bytes of helpers")),
                                           base::format_bytes(shared))
                             : "none: no rank with several cores of its own packed 1 MiB or more at once";
    text += fmt::format("  {:<22} {}\n", "helpers", what);
  }
  constexpr int most_sites = 3;
  int sites = 0;
  for (const auto& site : report.value("call sites", nlohmann::ordered_json::array())) {
    if (++sites > most_sites) break;
    const auto file = site["file"].get<std::string>();
    text += fmt::format("  {:<22} most at {}{}+{:#x} on the first rank\n", site["call"].get<std::string>(),
                        site.contains("function") ? site["function"].get<std::string>() + " in " : "",
                        file.substr(file.rfind('/') + 1), site["offset"].get<std::uint64_t>());
  }
  const char* const trials[] = {"trials", "trials of collectives"};
  if (std::ranges::any_of(trials, [&](const char* list) { return report.contains(list); }))
    text += "  tried on the first rank\n";
  for (const auto* list : trials)
    for (const auto& trial : report.value(list, nlohmann::ordered_json::array())) {
      text += fmt::format("  {:<22} {}: {}{}", trial["call"].get<std::string>(), trial["data"].get<std::string>(),
                          trial["choice"].get<std::string>(), trial["over"].get<bool>() ? "" : " so far");
      for (const auto& [who, seconds] : trial["seconds"].items())
        text += fmt::format("; {} {}", who, base::format_seconds(seconds.get<double>()));
      text += '\n';
    }
  return text;
}

// Totals travel as messages, not by a collective call: a rank without Dunnage, or without a report,
// would never join it. Whoever waits, waits for a bounded time. What is not zero travels as (index,
// value) pairs, few enough to be sent at once.
constexpr int report_tag = 32011;
constexpr auto patience_with_ranks = std::chrono::seconds(10);

/// Whether every rank has come to its end: until then a receive of the program, from any source
/// with any tag, could take our message for its own. No receive can take a barrier.
bool all_at_their_end() {
  MPI_Request request;
  if (process->own.Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  const auto end = std::chrono::steady_clock::now() + patience_with_ranks;
  int done = 0;
  while (!done && std::chrono::steady_clock::now() < end)
    if (process->own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  return done != 0;
}

void send_totals(const Totals& totals, const Links& links) {
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (totals[i]) pairs.insert(pairs.end(), {i, totals[i]});
  for (const Link& link : links) {
    const auto place = peer_totals + static_cast<std::size_t>(link.to + 1) * portion;
    for (std::size_t i = 0; i < portion; ++i) pairs.insert(pairs.end(), {place + i, link.figures[i]});
  }
  MPI_Request request;
  const auto bytes = static_cast<int>(pairs.size() * sizeof(std::uint64_t));
  if (process->own.Isend(pairs.data(), bytes, MPI_BYTE, 0, report_tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS) return;
  const auto end = std::chrono::steady_clock::now() + patience_with_ranks;
  int done = 0;
  while (!done && std::chrono::steady_clock::now() < end)
    if (process->own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
  if (done) return;
  new std::vector<std::uint64_t>(std::move(pairs));  // the MPI may still read it: kept on purpose
  process->own.Request_free(&request);
}

/// Takes what a rank has sent: adds to `sums`, or to the links of that rank.
void take_pair(std::uint64_t place, std::uint64_t value, int from, Totals& sums, Links& links) {
  if (place < peer_totals) {
    sums[place] += value;
    return;
  }
  const auto figure = (place - peer_totals) % portion;
  if (figure == 0) links.push_back({from, static_cast<int>((place - peer_totals) / portion) - 1, {}});
  if (!links.empty()) links.back().figures[figure] = value;
}

/// Adds what up to `others` ranks send; returns how many did.
int add_totals(Totals& sums, Links& links, int others) {
  const auto end = std::chrono::steady_clock::now() + patience_with_ranks;
  int answers = 0;
  while (answers < others && std::chrono::steady_clock::now() < end) {
    int there = 0, bytes = 0;
    MPI_Status status;
    if (process->own.Iprobe(MPI_ANY_SOURCE, report_tag, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS) break;
    if (!there) continue;
    process->own.Get_count(&status, MPI_BYTE, &bytes);
    std::vector<std::uint64_t> pairs(static_cast<std::size_t>(bytes) / sizeof(std::uint64_t));
    if (process->own.Recv(pairs.data(), bytes, MPI_BYTE, status.MPI_SOURCE, report_tag, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE) != MPI_SUCCESS)
      break;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
      take_pair(pairs[i], pairs[i + 1], status.MPI_SOURCE, sums, links);
    ++answers;
  }
  return answers;
}

}  // namespace

std::string library_version(const OwnTable& own) {
  // Longer than any header's MPI_MAX_LIBRARY_VERSION_STRING: the library may be another than the
  // header's.
  char text[8192 + 1] = "";
  int length = 0;
  own.Get_library_version(text, &length);
  return text;
}

void report() try {
  if (!process->reporting) return;
  int rank = 0, ranks = 1;
  if (process->own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
      process->own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS)
    return;
  auto sums = local_totals();
  auto links = local_links();
  const bool together = ranks == 1 || all_at_their_end();
  if (rank != 0) {
    if (together) send_totals(sums, links);
    return;
  }
  const int answers = 1 + (together ? add_totals(sums, links, ranks - 1) : 0);
  const auto json = to_json(sums, links, answers);
  write_output(
      process->settings.report, "the report", "DUNNAGE_REPORT", [&] { return to_text(json); },
      [&] { return to_file(json); });
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: no report: %s\n", e.what());
}

}  // namespace dunnage::mpi
