#include "mpi/process/report.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/machine.hpp"
#include "base/write_file.hpp"
#include "device/driver.hpp"
#include "device/launches.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {
namespace {

// Per hook: calls by reason, then bytes, nanoseconds, tickets and rings, then messages on device
// memory by their ways.
constexpr std::size_t row = plan::reasons + 4 + plan::gpu_ways;
using Totals = std::vector<std::uint64_t>;
// Behind the hooks' rows: what came into device memory, and the launches of this process.
constexpr std::size_t fetch_totals = hook_count * row;

Totals local_totals() {
  Totals totals;
  for (const auto& count : process->counts) {
    for (const auto& calls : count.calls) totals.push_back(calls.load());
    totals.push_back(count.bytes.load());
    totals.push_back(count.nanoseconds.load());
    totals.push_back(count.tickets.load());
    totals.push_back(count.rings.load());
    for (const auto& messages : count.gpu_ways) totals.push_back(messages.load());
  }
  const auto& fetches = process->fetches;
  const auto& launches = device::launches;
  for (const auto* one : {&fetches.messages, &fetches.groups, &fetches.later, &launches.kernels, &launches.copies})
    totals.push_back(one->load());
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

nlohmann::ordered_json to_json(const Totals& totals, int ranks) {
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
    for (std::size_t w = 0; w < plan::gpu_ways; ++w)
      if (const auto n = t[plan::reasons + 4 + w])
        calls[hook_names[h]]["device memory"][std::string(plan::gpu_way_text[w])] = n;
  }
  nlohmann::ordered_json report = {{"mpi", short_version()},
                                   {"machine", base::describe(base::this_machine())},
                                   {"settings", changed_settings()},
                                   {"ranks", ranks},
                                   {"calls", calls}};
  for (const auto& [data, operation, found] : process->pack_trials.told()) {
    nlohmann::ordered_json times = nlohmann::ordered_json::object();
    for (std::size_t p = 0; p < plan::packers; ++p)
      if (found.nanoseconds[p] > 0) times[std::string(plan::packer_text[p])] = 1e-9 * found.nanoseconds[p];
    report["trials"].push_back({{"call", plan::text(operation)},
                                {"data", data},
                                {"choice", plan::text(found.choice)},
                                {"over", found.settled},
                                {"seconds", times}});
  }
  const auto* fetched = &totals[fetch_totals];
  if (fetched[1] + fetched[3] + fetched[4] > 0)
    report["device work"] = {{"messages fetched", fetched[0]},
                             {"groups", fetched[1]},
                             {"groups that came later", fetched[2]},
                             {"kernels", fetched[3]},
                             {"copies", fetched[4]}};
  if (const char* why = device::why_driver_is_unused()) report["devices"] = why;
  return report;
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
  }
  if (report.contains("trials")) text += "  tried on the first rank\n";
  for (const auto& trial : report.value("trials", nlohmann::ordered_json::array())) {
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
constexpr auto patience = std::chrono::seconds(10);

/// Whether every rank has come to its end: until then a receive of the program, from any source
/// with any tag, could take our message for its own. No receive can take a barrier.
bool all_at_their_end() {
  MPI_Request request;
  if (process->own.Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  const auto end = std::chrono::steady_clock::now() + patience;
  int done = 0;
  while (!done && std::chrono::steady_clock::now() < end)
    if (process->own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  return done != 0;
}

void send_totals(const Totals& totals) {
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (totals[i]) pairs.insert(pairs.end(), {i, totals[i]});
  MPI_Request request;
  const auto bytes = static_cast<int>(pairs.size() * sizeof(std::uint64_t));
  if (process->own.Isend(pairs.data(), bytes, MPI_BYTE, 0, report_tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS) return;
  const auto end = std::chrono::steady_clock::now() + patience;
  int done = 0;
  while (!done && std::chrono::steady_clock::now() < end)
    if (process->own.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
  if (done) return;
  new std::vector<std::uint64_t>(std::move(pairs));  // the MPI may still read it: kept on purpose
  process->own.Request_free(&request);
}

/// Adds what up to `others` ranks send; returns how many did.
int add_totals(Totals& sums, int others) {
  const auto end = std::chrono::steady_clock::now() + patience;
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
      if (pairs[i] < sums.size()) sums[pairs[i]] += pairs[i + 1];
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
  const bool together = ranks == 1 || all_at_their_end();
  if (rank != 0) {
    if (together) send_totals(sums);
    return;
  }
  const auto json = to_json(sums, 1 + (together ? add_totals(sums, ranks - 1) : 0));
  const auto& output = process->settings.report;
  const base::NoSigpipe guard;  // whoever read standard error may be gone
  if (output.kind == base::Output::text)
    std::fputs(to_text(json).c_str(), stderr);
  else if (!base::write_file(output.path, json.dump(2) + '\n'))
    std::fputs(fmt::format("dunnage: cannot write the report to DUNNAGE_REPORT={}; check that its folder exists\n",
                           base::one_line(output.path, base::longest_path))
                   .c_str(),
               stderr);
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: no report: %s\n", e.what());
}

}  // namespace dunnage::mpi
