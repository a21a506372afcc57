#include "type/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <complex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dunnage::type {
namespace {

template <class First, class Second>
SpecPtr pair(const char* name) {
  struct Both {
    First first;
    Second second;
  };
  auto spec = std::make_shared<Spec>(
      *named(name, {{0, sizeof(First)}, {offsetof(Both, second), sizeof(Second)}}, sizeof(Both), alignof(Both)));
  spec->pair = true;
  return spec;
}

const std::vector<SpecPtr>& predefined() {
  static const std::vector<SpecPtr> all = {basic("byte", 1),
                                           basic("packed", 1),
                                           basic("char", 1),
                                           basic("short", 2),
                                           basic("int", 4),
                                           basic("long", 8),
                                           basic("float", 4),
                                           basic("double", 8),
                                           basic("long_double", sizeof(long double)),
                                           basic("bool", 1),
                                           basic("int8", 1),
                                           basic("int16", 2),
                                           basic("int32", 4),
                                           basic("int64", 8),
                                           basic("aint", 8),
                                           named("complex", {{0, 8}}, 8, 4),
                                           named("double_complex", {{0, 16}}, 16, 8),
                                           named("long_double_complex", {{0, 32}}, 32, 16),
                                           pair<float, int>("float_int"),
                                           pair<double, int>("double_int"),
                                           pair<long, int>("long_int"),
                                           pair<short, int>("short_int"),
                                           pair<int, int>("2int"),
                                           pair<long double, int>("long_double_int")};
  return all;
}

/// Names of MPI whose types have the layout of one of ours. MPI_DOUBLE and its kin need no row:
/// their names are ours in upper case.
struct Alias {
  std::string_view mpi, ours;
};
constexpr Alias aliases[] = {
    {"MPI_SIGNED_CHAR", "char"},
    {"MPI_UNSIGNED_CHAR", "char"},
    {"MPI_UNSIGNED_SHORT", "short"},
    {"MPI_UNSIGNED", "int"},
    {"MPI_UNSIGNED_LONG", "long"},
    {"MPI_LONG_LONG", "long"},
    {"MPI_LONG_LONG_INT", "long"},
    {"MPI_UNSIGNED_LONG_LONG", "long"},
    {"MPI_INT8_T", "int8"},
    {"MPI_INT16_T", "int16"},
    {"MPI_INT32_T", "int32"},
    {"MPI_INT64_T", "int64"},
    {"MPI_UINT8_T", "int8"},
    {"MPI_UINT16_T", "int16"},
    {"MPI_UINT32_T", "int32"},
    {"MPI_UINT64_T", "int64"},
    {"MPI_C_BOOL", "bool"},
    {"MPI_CXX_BOOL", "bool"},
    {"MPI_OFFSET", "int64"},
    {"MPI_COUNT", "int64"},
    {"MPI_C_COMPLEX", "complex"},
    {"MPI_C_FLOAT_COMPLEX", "complex"},
    {"MPI_C_DOUBLE_COMPLEX", "double_complex"},
    {"MPI_C_LONG_DOUBLE_COMPLEX", "long_double_complex"},
    {"MPI_CXX_FLOAT_COMPLEX", "complex"},
    {"MPI_CXX_DOUBLE_COMPLEX", "double_complex"},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", "long_double_complex"},
    {"MPI_COMPLEX8", "complex"},
    {"MPI_COMPLEX16", "double_complex"},
    {"MPI_WCHAR", "int"},
    {"MPI_INTEGER1", "int8"},
    {"MPI_INTEGER2", "int16"},
    {"MPI_CHARACTER", "char"},
    {"MPI_LOGICAL", "int"},
    {"MPI_INTEGER", "int"},
    {"MPI_INTEGER4", "int"},
    {"MPI_INTEGER8", "long"},
    {"MPI_REAL", "float"},
    {"MPI_REAL4", "float"},
    {"MPI_REAL8", "double"},
    {"MPI_DOUBLE_PRECISION", "double"},
};

/// Returns the predefined type of a name, ours or MPI's, or null.
SpecPtr find_predefined(std::string name) {
  constexpr std::string_view prefix = "MPI_";
  if (const auto* alias = std::ranges::find(aliases, name, &Alias::mpi); alias != std::end(aliases)) {
    name = alias->ours;
  } else if (name.starts_with(prefix)) {
    name.erase(0, prefix.size());
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  }
  const auto found = std::ranges::find(predefined(), name, [](const SpecPtr& spec) { return spec->name; });
  return found == predefined().end() ? nullptr : *found;
}

/// Takes MPI's prefix from the name of a constructor, and the ending of large counts:
/// MPI_Type_create_hvector_c becomes hvector. Fortran does not tell capitals from small letters.
/// Returns whether there was a prefix.
bool take_prefix(std::string& name) {
  std::string small = name;
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view prefix : {"mpi_type_create_", "mpi_type_"}) {
    if (!small.starts_with(prefix)) continue;
    name = small.substr(prefix.size());
    if (name.ends_with("_c")) name.resize(name.size() - 2);
    return true;
  }
  return false;
}

/// A recursive-descent parser of the grammar in text.hpp.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  SpecPtr whole() {
    if (const auto start = skip(); word() != "call") at_ = start;  // Fortran's
    auto spec = type();
    accept(';');
    if (skip() < text_.size()) fail("the end");
    return spec;
  }

 private:
  std::size_t skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    return at_;
  }
  [[noreturn]] void fail(std::string_view expected) {
    throw SpecError(fmt::format("datatype text, character {}: expected {}, found '{}'", at_ + 1, expected,
                                text_.substr(std::min(at_, text_.size()), 12)));
  }
  bool accept(char c) {
    if (skip() >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}'", c));
  }
  std::string word() {
    const auto start = skip();
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    if (at_ == start) fail("a name");
    return std::string(text_.substr(start, at_ - start));
  }
  std::int64_t integer() {
    std::int64_t value = 0;
    const auto start = text_.data() + skip();
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("an integer that fits 64 bits");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::int64_t number() {  // also skips the comma after the number
    const auto value = integer();
    expect(',');
    return value;
  }
  template <class F>
  auto bracketed(F item) {  // braces too, as in C
    std::vector<decltype(item())> values;
    const bool brace = accept('{');
    if (!brace) expect('[');
    const char end = brace ? '}' : ']';
    if (accept(end)) return values;
    do values.push_back(item());
    while (accept(','));
    expect(end);
    return values;
  }
  /// A list whose length MPI's spelling has told before. Also skips the comma after the list.
  template <class F>
  auto list(std::optional<std::int64_t> length, F item) {
    auto values = bracketed(item);
    if (length && *length != static_cast<std::int64_t>(values.size()))
      throw SpecError(fmt::format("datatype text, character {}: the count is {}, but the list has {} elements", at_,
                                  *length, values.size()));
    expect(',');
    return values;
  }
  Ints numbers(std::optional<std::int64_t> length) {
    return list(length, [&] { return integer(); });
  }
  template <class T>
  T choice(std::initializer_list<std::pair<const char*, T>> choices) {
    const auto start = at_;
    const auto name = word();
    std::vector<std::string> names;
    for (const auto& [n, value] : choices) {
      if (n == name) return value;
      names.push_back(n);
    }
    at_ = start;
    fail(fmt::format("one of {}", fmt::join(names, ", ")));
  }
  Order order() {
    const auto value = choice<Order>({{"C", Order::c},
                                      {"Fortran", Order::fortran},
                                      {"MPI_ORDER_C", Order::c},
                                      {"MPI_ORDER_FORTRAN", Order::fortran}});
    expect(',');
    return value;
  }

  SpecPtr type() {
    const auto start = skip();
    auto name = word();
    if (!accept('(')) {
      if (const auto spec = find_predefined(name)) return spec;
      at_ = start;
      fail(fmt::format("a type: one of {}, or a constructor", fmt::join(type_names(), ", ")));
    }
    if (depth_ == most_depth)
      throw SpecError(fmt::format("datatype text, character {}: nested more than {} deep", start + 1, most_depth));
    ++depth_;
    const bool mpi = take_prefix(name);
    auto spec = constructor(name, mpi, start);
    if (mpi && accept(',')) {  // the new type
      accept('&');
      word();
      if (accept(',')) word();  // Fortran's ierror
    }
    --depth_;
    expect(')');
    return spec;
  }

  /// `mpi`: whether the arguments are MPI's, which has the lengths of lists as an argument.
  SpecPtr constructor(const std::string& name, bool mpi, std::size_t start) {
    const auto length = [&] { return mpi ? std::optional(number()) : std::nullopt; };
    if (name == "dup") return dup(type());
    if (name == "contiguous") {
      const auto count = number();
      return contiguous(count, type());
    }
    if (name == "vector" || name == "hvector") {
      const auto count = number(), blocklength = number(), stride = number();
      return (name == "vector" ? vector : hvector)(count, blocklength, stride, type());
    }
    if (name == "indexed" || name == "hindexed") {
      const auto count = length();
      auto lengths = numbers(count), displacements = numbers(count);
      return (name == "indexed" ? indexed : hindexed)(std::move(lengths), std::move(displacements), type());
    }
    if (name == "indexed_block" || name == "hindexed_block") {
      const auto count = length();
      const auto blocklength = number();
      auto displacements = numbers(count);
      return (name == "indexed_block" ? indexed_block : hindexed_block)(blocklength, std::move(displacements), type());
    }
    if (name == "struct") {
      const auto count = length();
      auto lengths = numbers(count), displacements = numbers(count);
      return structure(std::move(lengths), std::move(displacements), bracketed([&] { return type(); }));
    }
    if (name == "subarray") {
      const auto dimensions = length();
      const auto sizes = numbers(dimensions), subsizes = numbers(dimensions), starts = numbers(dimensions);
      const auto storage = order();
      return subarray(sizes, subsizes, starts, storage, type());
    }
    if (name == "darray") return darray_arguments(length);
    if (name == "resized") {
      SpecPtr old = mpi ? type() : nullptr;  // MPI has it first
      if (mpi) expect(',');
      const auto lb = number(), extent = mpi ? integer() : number();
      return resized(lb, extent, mpi ? old : type());
    }
    at_ = start;
    fail(
        "dup, contiguous, vector, hvector, indexed, hindexed, indexed_block, hindexed_block, struct, subarray, darray "
        "or resized, or MPI's names of them");
  }

  template <class Length>
  SpecPtr darray_arguments(Length length) {
    const auto size = number(), rank = number();
    const auto dimensions = length();
    const auto gsizes = numbers(dimensions);
    const auto distributions = list(dimensions, [&] {
      return choice<Distribution>({{"block", Distribution::block},
                                   {"cyclic", Distribution::cyclic},
                                   {"none", Distribution::none},
                                   {"MPI_DISTRIBUTE_BLOCK", Distribution::block},
                                   {"MPI_DISTRIBUTE_CYCLIC", Distribution::cyclic},
                                   {"MPI_DISTRIBUTE_NONE", Distribution::none}});
    });
    const auto arguments = list(dimensions, [&] {
      const bool word = skip() < text_.size() && (text_[at_] == 'd' || text_[at_] == 'M');
      return word ? choice<std::int64_t>({{"default", default_distribution_argument},
                                          {"MPI_DISTRIBUTE_DFLT_DARG", default_distribution_argument}})
                  : integer();
    });
    const auto processes = numbers(dimensions);
    const auto storage = order();
    return darray(size, rank, gsizes, distributions, arguments, processes, storage, type());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

template <class Range>
std::string joined(const Range& values, bool shorten) {
  constexpr std::size_t shown = 6;
  if (!shorten || values.size() <= shown) return fmt::format("[{}]", fmt::join(values, ","));
  return fmt::format("[{},... {} in all]", fmt::join(values.begin(), values.begin() + shown, ","), values.size());
}

}  // namespace

SpecPtr parse(std::string_view text) { return Parser(text).whole(); }

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const auto& spec : predefined()) names.push_back(spec->name);
  return names;
}

std::string to_text(const Spec& spec, bool shorten) {
  const auto old = spec.types.empty() ? std::string() : to_text(*spec.types[0], shorten);
  const auto column = [&](auto member) {
    Ints values;
    for (const auto& d : spec.dimensions) values.push_back(static_cast<std::int64_t>(d.*member));
    return joined(values, shorten);
  };
  const char* order = spec.order == Order::c ? "C" : "Fortran";
  switch (spec.combiner) {
    case Combiner::named: return spec.name;
    case Combiner::dup: return fmt::format("dup({})", old);
    case Combiner::contiguous: return fmt::format("contiguous({},{})", spec.integers[0], old);
    case Combiner::vector:
      return fmt::format("vector({},{},{},{})", spec.integers[0], spec.integers[1], spec.integers[2], old);
    case Combiner::hvector:
      return fmt::format("hvector({},{},{},{})", spec.integers[0], spec.integers[1], spec.addresses[0], old);
    case Combiner::indexed:
    case Combiner::hindexed:
      return fmt::format("{}({},{},{})", spec.combiner == Combiner::indexed ? "indexed" : "hindexed",
                         joined(spec.integers, shorten), joined(spec.addresses, shorten), old);
    case Combiner::indexed_block:
    case Combiner::hindexed_block:
      return fmt::format("{}({},{},{})", spec.combiner == Combiner::indexed_block ? "indexed_block" : "hindexed_block",
                         spec.integers[0], joined(spec.addresses, shorten), old);
    case Combiner::structure: {
      std::vector<std::string> types;
      for (const auto& t : spec.types) types.push_back(to_text(*t, shorten));
      return fmt::format("struct({},{},{})", joined(spec.integers, shorten), joined(spec.addresses, shorten),
                         joined(types, shorten));
    }
    case Combiner::subarray:
      return fmt::format("subarray({},{},{},{},{})", column(&Dimension::size), column(&Dimension::subsize),
                         column(&Dimension::start), order, old);
    case Combiner::darray: {
      std::vector<std::string> distributions, arguments;
      for (const auto& d : spec.dimensions) {
        distributions.push_back(d.distribution == Distribution::block    ? "block"
                                : d.distribution == Distribution::cyclic ? "cyclic"
                                                                         : "none");
        arguments.push_back(d.argument == default_distribution_argument ? "default" : std::to_string(d.argument));
      }
      return fmt::format("darray({},{},{},{},{},{},{},{})", spec.integers[0], spec.integers[1],
                         column(&Dimension::size), joined(distributions, false), joined(arguments, false),
                         column(&Dimension::processes), order, old);
    }
    case Combiner::resized: return fmt::format("resized({},{},{})", spec.addresses[0], spec.addresses[1], old);
  }
  return {};
}

}  // namespace dunnage::type
