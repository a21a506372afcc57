#include "calls/report.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "calls/context.hpp"

namespace dunnage::calls {
namespace {

// Per hook: calls by reason, then bytes, then nanoseconds.
constexpr std::size_t row = plan::reasons + 2;
using Totals = std::vector<std::uint64_t>;

Totals local_totals() {
  Totals totals;
  for (const auto& count : context->counts) {
    for (const auto& calls : count.calls) totals.push_back(calls.load());
    totals.push_back(count.bytes.load());
    totals.push_back(count.nanoseconds.load());
  }
  return totals;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  context->own.Get_library_version(text, &length);
  std::string version(text);
  // The first line, or MPICH's two words of it: enough to know the library by.
  version = version.substr(0, version.find('\n'));
  for (auto& c : version)
    if (c == '\t') c = ' ';
  return version.substr(0, version.find(", package"));
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
                            {"seconds", static_cast<double>(t[plan::reasons + 1]) * 1e-9}};
  }
  return {{"mpi", library_version()}, {"ranks", ranks}, {"calls", calls}};
}

std::string to_text(const nlohmann::ordered_json& report) {
  std::string text = fmt::format("dunnage: report for {} ranks of {}\n", report["ranks"].get<int>(),
                                 report["mpi"].get<std::string>());
  if (report["calls"].empty()) text += "  no call that Dunnage knows was made\n";
  for (const auto& [name, call] : report["calls"].items()) {
    const auto accelerated = call["accelerated"].get<std::uint64_t>();
    text += fmt::format("  {:<22} {:>10} accelerated", name, accelerated);
    if (const auto bytes = call["bytes"].get<std::uint64_t>(); bytes)
      text += fmt::format(", {} in {}", base::format_bytes(bytes), base::format_seconds(call["seconds"].get<double>()));
    text += '\n';
    for (const auto& [reason, n] : call["declined"].items())
      text += fmt::format("  {:<22} {:>10} declined: {}\n", "", n.get<std::uint64_t>(), reason);
  }
  return text;
}

}  // namespace

void report() try {
  if (!context->reporting) return;
  auto totals = local_totals();
  int rank = 0, ranks = 1;
  if (context->own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
      context->own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS)
    return;
  Totals sums(totals.size());
  if (context->own.Reduce(totals.data(), sums.data(), static_cast<int>(totals.size()), MPI_UINT64_T, MPI_SUM, 0,
                          MPI_COMM_WORLD) != MPI_SUCCESS ||
      rank != 0)
    return;
  const auto json = to_json(sums, ranks);
  const auto& output = context->settings.report;
  if (output.kind == base::Output::text) {
    std::fputs(to_text(json).c_str(), stderr);
    return;
  }
  std::ofstream file(output.path);
  file << json.dump(2) << '\n';
  if (!file.flush())
    fmt::print(stderr, "dunnage: cannot write the report to DUNNAGE_REPORT={}; check that its folder exists\n", output.path);
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: no report: %s\n", e.what());
}

}  // namespace dunnage::calls
