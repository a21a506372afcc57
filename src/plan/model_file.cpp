#include "plan/model_file.hpp"

#include <optional>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace dunnage::plan {

namespace {

using nlohmann::json;
using Path = json::json_pointer;

constexpr std::string_view format_name = "dunnage model";
constexpr int format_version = 1;
constexpr std::string_view class_names[peer_classes] = {"same_host", "other_host"};  // by Peers

// Nanoseconds for a call, a block, a byte; and bytes. No machine is near these.
constexpr double most_time = 1e6;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

struct Senseless {
  std::string why;
};

template <class C, class Visit>
void each_price(const std::string& path, C& cost, Visit visit) {
  visit(path + "/call", cost.call);
  visit(path + "/block", cost.block);
  visit(path + "/byte", cost.byte);
  visit(path + "/far_byte", cost.far_byte);
}

template <class S, class Visit>
void each_price_of(const std::string& path, S& side, Visit visit) {
  each_price(path + "/engine", side.engine, visit);
  each_price(path + "/library", side.library, visit);
  visit(path + "/engine_eager_byte", side.engine_eager_byte);
  visit(path + "/library_eager_block", side.library_eager_block);
}

/// Every figure of a model that stands in a file, with its place there.
template <class M, class Visit>
void each_figure(M& model, Visit visit) {
  each_price("/engine_pack", model.engine_pack, visit);
  each_price("/library_pack", model.library_pack, visit);
  visit("/far_message", model.far_message);
  visit("/least_ticket", model.least_ticket);
  each_price("/ticket", model.ticket, visit);
  for (std::size_t i = 0; i < peer_classes; ++i) {
    auto& costs = model.messages[i];
    const auto path = fmt::format("/messages/{}", class_names[i]);
    each_price_of(path + "/send", costs.send, visit);
    each_price_of(path + "/receive", costs.receive, visit);
    visit(path + "/eager_limit", costs.eager_limit);
  }
}

template <class Number>
void take(const json& entry, const std::string& path, Number& to) {
  const Path place(path);
  if (!entry.contains(place)) return;
  const auto& value = entry.at(place);
  constexpr bool whole = std::is_integral_v<Number>;
  constexpr auto most = whole ? static_cast<double>(most_bytes) : most_time;
  const bool kind = whole ? value.is_number_integer() : value.is_number();
  if (!kind || !(value.get<double>() >= 0 && value.get<double>() <= most))
    throw Senseless{fmt::format("has {} for {}, which must be a{} number from 0 to {:g}", base::one_line(value.dump()), path,
                                whole ? " whole" : "", most)};
  to = value.get<Number>();
}

Library library_of(const json& entry) {
  const auto kind = kind_of(entry.at("library").get<std::string>());
  if (!kind) throw Senseless{fmt::format("has an MPI that is unknown, {}", base::one_line(entry.at("library").dump()))};
  return {*kind, entry.at("major").get<int>(), entry.at("minor").get<int>()};
}

base::Machine machine_of(const json& from) {
  return {from.at("processor").get<std::string>(), from.at("cores").get<int>(), from.at("second_level_cache").get<std::int64_t>()};
}

ModelFile read(std::string_view text, const base::Machine& machine) {
  const auto document = json::parse(text);
  if (!document.is_object() || document.value("format", json()) != format_name) throw Senseless{"is no model file of Dunnage"};
  if (const auto version = document.value("version", json()); version != format_version)
    throw Senseless{fmt::format("is of version {}, and this Dunnage reads version {}", base::one_line(version.dump()), format_version)};
  if (const auto made_on = machine_of(document.at("machine")); made_on != machine)
    throw Senseless{fmt::format("was made on another machine ({}; this one: {})", base::one_line(base::describe(made_on)), base::describe(machine))};
  ModelFile file;
  file.date = base::one_line(document.at("made").at("date").get<std::string>());
  for (const auto& entry : document.at("mpis")) {
    const auto library = library_of(entry);
    auto model = default_model(library);
    each_figure(model, [&](const std::string& path, auto& to) { take(entry, path, to); });
    file.models.emplace_back(library, model);
  }
  return file;
}

}  // namespace

ModelFile read_model_file(std::string_view text, const base::Machine& machine) {
  const auto complain = [](std::string why) {
    ModelFile file;
    file.complaint = std::move(why);
    return file;
  };
  try {
    return read(text, machine);
  } catch (const Senseless& found) {
    return complain(found.why);
  } catch (const json::parse_error&) {
    return complain("is not JSON, or is cut off");
  } catch (const json::exception& e) {  // something is missing, or of another kind
    return complain(fmt::format("is damaged ({})", base::one_line(e.what())));
  }
}

json figures(const Model& model) {
  json found;
  each_figure(model, [&](const std::string& path, const auto& value) { found[Path(path)] = value; });
  return found;
}

json to_json(const base::Machine& m) {
  return {{"processor", m.processor}, {"cores", m.cores}, {"second_level_cache", m.second_level_cache}};
}

}  // namespace dunnage::plan
