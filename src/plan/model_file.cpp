#include "plan/model_file.hpp"

#include <string>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace dunnage::plan {

namespace {

using nlohmann::json;

constexpr std::string_view format_name = "dunnage model";
constexpr int format_version = 1;
constexpr const char* class_names[peer_classes] = {"same_host", "other_host"};  // indexed by Peers

// The largest price, in nanoseconds, and the largest number of bytes that a file may have. No
// machine is near these limits.
constexpr double most_time = 1e6;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

/// Some functions of the JSON library call themselves for each level, until the stack ends.
constexpr int most_nested = 32;

/// Why a file cannot be used, to follow its name.
struct BadFile {
  std::string why;
};

/// A visitor that reads figures from an object of a file. If the object lacks a member, the figure
/// keeps its value.
class FigureReader {
 public:
  explicit FigureReader(const json& object) : at_(&object) {}
  FigureReader operator[](const char* name) const { return {member(name), this, name}; }

  template <class Number>
  void operator()(const char* name, Number& to) const {
    const auto* value = member(name);
    if (!value) return;
    constexpr bool whole = std::is_integral_v<Number>;
    constexpr auto most = whole ? static_cast<double>(most_bytes) : most_time;
    const bool kind = whole ? value->is_number_integer() : value->is_number();
    if (!kind || !(value->template get<double>() >= 0 && value->template get<double>() <= most))
      throw BadFile{fmt::format("has {} for {}/{}, which must be a{} number from 0 to {:g}",
                                base::one_line(value->dump()), path(), name, whole ? " whole" : "", most)};
    to = value->template get<Number>();
  }

 private:
  FigureReader(const json* at, const FigureReader* above, const char* name) : at_(at), above_(above), name_(name) {}
  const json* member(const char* name) const {
    if (!at_ || !at_->is_object()) return nullptr;
    const auto found = at_->find(name);
    return found == at_->end() ? nullptr : &*found;
  }
  std::string path() const { return above_ ? above_->path() + "/" + name_ : ""; }

  const json* at_;
  const FigureReader* above_ = nullptr;
  const char* name_ = "";
};

/// A visitor that writes figures to an object of a file.
struct FigureWriter {
  json* at;
  FigureWriter operator[](const char* name) const { return {&(*at)[name]}; }
  template <class Number>
  void operator()(const char* name, Number value) const {
    (*at)[name] = value;
  }
};

template <class Visit, class C>
void each_price(const Visit& visit, C& cost) {
  visit("call", cost.call);
  visit("block", cost.block);
  visit("byte", cost.byte);
  visit("far_byte", cost.far_byte);
}

template <class Visit, class S>
void each_figure_of_side(const Visit& visit, S& side) {
  each_price(visit["engine"], side.engine);
  each_price(visit["library"], side.library);
  visit("engine_eager_byte", side.engine_eager_byte);
  visit("library_eager_block", side.library_eager_block);
}

template <class Visit, class N>
void each_figure_of_network(const Visit& visit, N& network) {
  visit("latency", network.latency);
  visit("overhead", network.overhead);
  visit("byte", network.byte);
}

template <class Visit, class B>
void each_figure_of_bcast(const Visit& visit, B& bcast) {
  each_figure_of_network(visit[class_names[static_cast<int>(Peers::same_host)]], bcast.same_host);
  each_figure_of_network(visit[class_names[static_cast<int>(Peers::other_host)]], bcast.other_host);
  const auto window = visit["window"];
  window("call", bcast.window.call);
  window("byte", bcast.window.byte);
  window("reader", bcast.window.reader);
  visit("least_window", bcast.least_window);
}

/// Visits every figure of a model that a file has, at its place in the file.
template <class Visit, class M>
void each_figure(const Visit& visit, M& model) {
  each_price(visit["engine_pack"], model.engine_pack);
  each_price(visit["library_pack"], model.library_pack);
  visit("far_message", model.far_message);
  visit("least_ticket", model.least_ticket);
  each_price(visit["ticket"], model.ticket);
  const auto gpu = visit["gpu"];
  gpu("direct", model.gpu.direct);
  gpu("shared", model.gpu.shared);
  gpu("passed", model.gpu.passed);
  each_figure_of_bcast(visit["bcast"], model.bcast);
  const auto messages = visit["messages"];
  for (std::size_t i = 0; i < peer_classes; ++i) {
    auto& costs = model.messages[i];
    const auto peers = messages[class_names[i]];
    each_figure_of_side(peers["send"], costs.send);
    each_figure_of_side(peers["receive"], costs.receive);
    peers("eager_limit", costs.eager_limit);
  }
}

Library library_of(const json& entry) {
  const auto kind = kind_of(entry.at("library").get<std::string>());
  if (!kind) throw BadFile{fmt::format("has an MPI that is unknown, {}", base::one_line(entry.at("library").dump()))};
  return {*kind, entry.at("major").get<int>(), entry.at("minor").get<int>()};
}

base::Machine machine_of(const json& from) {
  return {from.at("processor").get<std::string>(), from.at("cores").get<int>(),
          from.at("second_level_cache").get<std::int64_t>()};
}

ModelFile read(std::string_view text, const base::Machine& machine) {
  const auto document = json::parse(text, [](int depth, json::parse_event_t, const json&) {
    if (depth > most_nested) throw BadFile{fmt::format("is nested more than {} deep", most_nested)};
    return true;
  });
  if (!document.is_object() || document.value("format", json()) != format_name)
    throw BadFile{"is no model file of Dunnage"};
  if (const auto version = document.value("version", json()); version != format_version)
    throw BadFile{fmt::format("is of version {}, and this Dunnage reads version {}", base::one_line(version.dump()),
                              format_version)};
  if (const auto made_on = machine_of(document.at("machine")); made_on != machine)
    throw BadFile{fmt::format("was made on another machine ({}; this one: {})", base::one_line(base::describe(made_on)),
                              base::describe(machine))};
  ModelFile file;
  file.date = base::one_line(document.at("made").at("date").get<std::string>());
  for (const auto& entry : document.at("mpis")) {
    const auto library = library_of(entry);
    auto model = default_model(library);
    each_figure(FigureReader(entry), model);
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
  } catch (const BadFile& found) {
    return complain(found.why);
  } catch (const json::parse_error&) {
    return complain("is not JSON, or is cut off");
  } catch (const json::exception& e) {  // a member is missing or has the wrong type
    return complain(fmt::format("is damaged ({})", base::one_line(e.what())));
  }
}

json figures(const Model& model) {
  json found;
  each_figure(FigureWriter{&found}, model);
  return found;
}

json to_json(const base::Machine& m) {
  return {{"processor", m.processor}, {"cores", m.cores}, {"second_level_cache", m.second_level_cache}};
}

}  // namespace dunnage::plan
