#include "tool/explain_trials.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "base/machine.hpp"
#include "plan/exchange_trial.hpp"

namespace dunnage::tool {

namespace {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

constexpr const char* how = "write one with `dunnage run --report=FILE.json -- COMMAND`";

/// Returns a text of the report, safe to print.
std::string text_in(const Json& json, const char* key) { return base::one_line(json.value(key, std::string())); }

/// Whether a trial is about data of that kind. Reports of earlier versions have the text alone.
bool is_about(const Json& trial, const plan::DataKind& kind) {
  return trial.at("data") == plan::text(kind) && trial.value("spread", kind.most_spread()) == kind.most_spread() &&
         trial.value("mixed", kind.mixed) == kind.mixed;
}

/// The predicted times of data of a kind, for its least and its most bytes.
struct Range {
  plan::Prediction least, most;
};

Range predict(const plan::Model& model, const plan::Shape& shape, const plan::DataKind& kind,
              plan::Operation operation) {
  const auto of = [&](std::int64_t size) {
    plan::Shape one = shape;
    one.size = std::max<std::int64_t>(size, 1);
    one.blocks = std::max<std::int64_t>(one.size / std::max<std::int64_t>(kind.block, 1), 1);
    return plan::predict(model, one, operation);
  };
  return {of(kind.most() / 2 + 1), of(kind.most())};
}

/// Who is predicted to be faster, if the measured times say otherwise. Messages are compared in
/// this way alone: prices are for what packing adds to a message, and a trial measures whole calls.
std::string contrary(const plan::Prediction& predicted, double ours, double the_mpis) {
  if (ours <= 0 || the_mpis <= 0) return {};
  const bool gain = ours < the_mpis;
  if (predicted.gain() == gain) return {};
  const double factor = gain ? the_mpis / ours : ours / the_mpis;
  return fmt::format(" DIFFERS: {} was predicted to be faster, and {} was, {:.2f} times",
                     predicted.gain() ? "Dunnage" : "the MPI", gain ? "Dunnage" : "the MPI", factor);
}

/// Returns the lines of one trial.
Lines lines_of(const Json& trial, plan::Operation operation, const plan::Shape& shape, const plan::DataKind& kind,
               const plan::Model& model) {
  Lines lines;
  const auto choice = text_in(trial, "choice");
  lines.push_back(fmt::format("{:<16} {}: {} does these calls{}", fmt::format("tried {}", text_in(trial, "call")),
                              plan::text(kind), choice,
                              trial.value("over", false) ? "" : "; too few were made to choose"));
  const auto range = predict(model, shape, kind, operation);
  const auto exact = plan::predict(model, shape, operation);
  double ours = 0, the_mpis = 0;
  for (const auto& [who, seconds] : trial.at("seconds").items()) {
    const double time = 1e9 * seconds.get<double>();
    const bool library = who == plan::text(plan::Packer::library);
    auto& best = library ? the_mpis : ours;
    best = best > 0 ? std::min(best, time) : time;
    auto line = fmt::format("{:<16} {} {}", "", base::one_line(who), base::format_seconds(time * 1e-9));
    // The prediction is about the stores that Dunnage would take.
    const auto stores = shape.streamed ? plan::Packer::streamed : plan::Packer::cached;
    if (!plan::is_message(operation) && (library || who == plan::text(stores)))
      line += fmt::format(", predicted {}{}", base::format_seconds(1e-9 * (library ? exact.library : exact.engine)),
                          difference(time, library ? range.least.library : range.least.engine,
                                     library ? range.most.library : range.most.engine));
    lines.push_back(std::move(line));
  }
  if (plan::is_message(operation))
    if (const auto text = contrary(exact, ours, the_mpis); !text.empty())
      lines.push_back(fmt::format("{:<16}{}", "", text));
  return lines;
}

/// Returns what there is to say if no trial is about such data.
Lines none_about(const Json& trials, const plan::DataKind& kind) {
  constexpr std::size_t most_shown = 8;
  Lines others;
  for (const auto& trial : trials)
    if (auto data = text_in(trial, "data"); std::ranges::find(others, data) == others.end())
      others.push_back(std::move(data));
  if (others.empty())
    return {fmt::format("{:<16} nothing: the program made no such calls, or had DUNNAGE_TRIALS=off or DUNNAGE_FORCE",
                        "tried")};
  Lines lines{fmt::format("{:<16} nothing about {}; the report has:", "tried", plan::text(kind))};
  const auto shown = std::min(others.size(), most_shown);
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(fmt::format("{:<16} {}", "", others[i]));
  if (shown < others.size()) lines.push_back(fmt::format("{:<16} and {} more", "", others.size() - shown));
  return lines;
}

Lines told(const std::string& path, const Json& report, const plan::Shape& shape, const plan::DataKind& kind,
           const plan::MachineModel& models) {
  const auto mpi = text_in(report, "mpi"), machine = text_in(report, "machine");
  Lines lines{fmt::format("{:<16} {}: {} ranks of {}", "report", path, report.at("ranks").get<int>(), mpi)};
  if (machine != base::describe(base::this_machine()) && !machine.empty())
    lines.push_back(fmt::format("{:<16} from another machine ({}); predictions are for this one", "", machine));
  const auto model = models.of(plan::identify(mpi));
  const auto trials = report.value("trials", Json::array());
  const auto before = lines.size();
  for (const auto& trial : trials) {
    if (!is_about(trial, kind)) continue;
    // Nonblocking messages have trials of their own, and prices are for all messages.
    const auto call = trial.at("call").get<std::string>();
    auto what = std::string_view(call);
    if (what.starts_with(plan::nonblocking)) what.remove_prefix(plan::nonblocking.size());
    const auto operation = std::ranges::find(plan::operation_text, what);
    if (operation == plan::operation_text.end()) continue;
    const auto index = static_cast<plan::Operation>(operation - plan::operation_text.begin());
    std::ranges::move(lines_of(trial, index, shape, kind, model), std::back_inserter(lines));
  }
  if (lines.size() == before) std::ranges::move(none_about(trials, kind), std::back_inserter(lines));
  return lines;
}

}  // namespace

std::string difference(double nanoseconds, double least, double most) {
  if (nanoseconds > far_off * most && most > 0)
    return fmt::format(" DIFFERS: {:.1f} times as long as predicted", nanoseconds / most);
  if (nanoseconds > 0 && far_off * nanoseconds < least)
    return fmt::format(" DIFFERS: predicted {:.1f} times as long", least / nanoseconds);
  return {};
}

std::vector<std::string> told_by_report(const std::string& path, const plan::Shape& shape, const plan::DataKind& kind,
                                        const plan::MachineModel& model) {
  std::ifstream file(path);
  if (!file) throw NoReport(fmt::format("{} cannot be read; {}", path, how));
  try {
    return told(path, Json::parse(file), shape, kind, model);
  } catch (const nlohmann::json::parse_error&) {
    throw NoReport(fmt::format("{} is not JSON; {}", path, how));
  } catch (const nlohmann::json::exception&) {
    throw NoReport(fmt::format("{} is JSON, but no report of Dunnage; {}", path, how));
  }
}

}  // namespace dunnage::tool
