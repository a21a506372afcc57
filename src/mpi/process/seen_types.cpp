#include "mpi/process/seen_types.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "mpi/process/process.hpp"
#include "mpi/process/report.hpp"
#include "mpi/process/types.hpp"
#include "mpi/process/write_output.hpp"
#include "pack/cpu/program.hpp"
#include "type/text.hpp"

namespace dunnage::mpi {
namespace {

constexpr std::size_t most_types = 256, longest_type = std::size_t{1} << 16;
constexpr std::int64_t most_timed = std::int64_t{1} << 26;  // bytes

struct PackTimes {
  double library, own;  // seconds, for one element
  bool alike;           // both have packed the same bytes
};

struct SeenType {
  std::string text;
  bool whole;  // the text can be read again
  std::int64_t bytes, extent;
  std::uint64_t commits;
  std::optional<PackTimes> times;
};

struct SeenTypes {
  std::mutex mutex;
  std::vector<SeenType> types;
  std::uint64_t left_out = 0;
};

/// Never destroyed: types may be committed in destructors at exit.
SeenTypes& seen_types() {
  static auto& all = *new SeenTypes;
  return all;
}

/// Puts the MPI's names in place of the handles of predefined types, "basic 17" and "pair 3"
/// (decode()).
std::string with_names(const std::string& text) {
  constexpr std::string_view words[] = {"basic ", "pair "};
  std::array<std::size_t, 2> next = {text.find(words[0]), text.find(words[1])};
  std::string named;
  std::size_t done = 0;
  for (;;) {
    const auto i = next[0] <= next[1] ? 0u : 1u;
    const auto word = next[i];
    named.append(text, done, word - done);  // the rest, if there is no word
    if (word == std::string::npos) return named;
    const auto* const number = text.data() + word + words[i].size();
    std::uint64_t handle = 0;
    const auto [end, error] = std::from_chars(number, text.data() + text.size(), handle);
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    done = static_cast<std::size_t>(end - text.data());
    if (error == std::errc() &&
        process->own.Type_get_name(handle_of<MPI_Datatype>(handle), name, &length) == MPI_SUCCESS)
      named.append(name, static_cast<std::size_t>(length));
    else
      named.append(text, word, done - word);
    next[i] = text.find(words[i], done);
  }
}

/// Whether `dunnage explain` can read a type again.
bool readable(const std::string& text) try {
  type::parse(text);
  return text.size() <= longest_type;
} catch (const type::SpecError&) {
  return false;
}

/// The shortest of several calls, in seconds.
template <class Call>
double shortest(const Call& call) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::max();
  const auto end = Clock::now() + std::chrono::milliseconds(2);
  for (int calls = 0; calls < 3 || (calls < 1000 && Clock::now() < end); ++calls) {
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

std::optional<PackTimes> time_packing(MPI_Datatype type, const type::Layout& layout) {
  if (!process->initialized || layout.size <= 0 || std::max(layout.size, layout.true_extent) > most_timed)
    return std::nullopt;
  if (layout.true_lb < -most_timed || layout.true_lb > most_timed) return std::nullopt;  // of addresses in the program
  const pack::Program program(layout, 1);
  const auto size = static_cast<std::size_t>(layout.size);
  std::vector<char> memory(static_cast<std::size_t>(layout.true_extent)), theirs(size), ours(size);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i * 2654435761u >> 13);
  // As a program's buffer, this may lie outside of what the type touches.
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  const auto* buffer = reinterpret_cast<const char*>(first - static_cast<std::uintptr_t>(layout.true_lb));
  const double library = shortest([&] {
    int position = 0;
    process->own.Pack(buffer, 1, type, theirs.data(), static_cast<int>(size), &position, MPI_COMM_SELF);
  });
  const double own = shortest([&] { program.pack(buffer, ours.data()); });
  return PackTimes{library, own, theirs == ours};
}

nlohmann::ordered_json to_json(const SeenTypes& all) {
  nlohmann::ordered_json json{{"library", library_version(process->own)}, {"types", nlohmann::ordered_json::array()}};
  for (const auto& one : all.types) {
    nlohmann::ordered_json type{{"type", one.text},
                                {"whole", one.whole},
                                {"bytes", one.bytes},
                                {"extent", one.extent},
                                {"commits", one.commits}};
    if (one.times) {
      type["the MPI's pack seconds"] = one.times->library;
      type["Dunnage's pack seconds"] = one.times->own;
      type["packed alike"] = one.times->alike;
    }
    json["types"].push_back(std::move(type));
  }
  json["left out"] = all.left_out;
  return json;
}

std::string to_text(const SeenTypes& all) {
  std::string text = fmt::format("dunnage: {} datatypes were committed by the first rank\n", all.types.size());
  for (const auto& one : all.types) {
    text +=
        fmt::format("  {}\n    {} bytes, extent {}, committed {} times", one.text, one.bytes, one.extent, one.commits);
    if (one.times)
      text += fmt::format("; MPI_Pack {} by the MPI, {} by Dunnage{}", base::format_seconds(one.times->library),
                          base::format_seconds(one.times->own),
                          one.times->alike ? "" : "; the MPI packs the elements in another order");
    text += '\n';
  }
  if (all.left_out > 0) text += fmt::format("  and {} commits of other types\n", all.left_out);
  return text;
}

}  // namespace

void see_type(MPI_Datatype type) try {
  if (process->settings.explain.kind == base::Output::off) return;
  const auto spec = decode(type);
  auto text = with_names(type::to_text(*spec));
  const bool whole = readable(text);
  if (!whole) text = with_names(type::to_text(*spec, true));
  auto& all = seen_types();
  const std::lock_guard lock(all.mutex);
  const auto found = std::ranges::find_if(all.types, [&](const SeenType& one) {
    return one.text == text && one.bytes == spec->size && one.extent == spec->extent;
  });
  if (found != all.types.end()) {
    ++found->commits;
  } else if (all.types.size() == most_types) {
    ++all.left_out;
  } else {
    all.types.push_back(
        {std::move(text), whole, spec->size, spec->extent, 1, time_packing(type, type::layout_of(*spec))});
  }
} catch (const std::exception&) {  // the program does not need it
}

void tell_types() try {
  const auto& output = process->settings.explain;
  int rank = 0;
  if (output.kind == base::Output::off || process->own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank != 0)
    return;
  auto& all = seen_types();
  const std::lock_guard lock(all.mutex);
  write_output(
      output, "the datatypes", "DUNNAGE_EXPLAIN", [&] { return to_text(all); },
      [&] { return to_json(all).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'; });
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: no datatypes: %s\n", e.what());
}

}  // namespace dunnage::mpi
