#include "type/text.hpp"

#include <algorithm>
#include <charconv>
#include <complex>

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
                                           pair<float, int>("float_int"),
                                           pair<double, int>("double_int"),
                                           pair<long, int>("long_int"),
                                           pair<short, int>("short_int"),
                                           pair<int, int>("2int"),
                                           pair<long double, int>("long_double_int")};
  return all;
}

/// A recursive-descent parser of the grammar in text.hpp.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  SpecPtr whole() {
    auto spec = type();
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
  auto bracketed(F item) {
    std::vector<decltype(item())> values;
    expect('[');
    if (accept(']')) return values;
    do values.push_back(item());
    while (accept(','));
    expect(']');
    return values;
  }
  Ints numbers() {
    auto values = bracketed([&] { return integer(); });
    expect(',');
    return values;
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
    const auto value = choice<Order>({{"C", Order::c}, {"Fortran", Order::fortran}});
    expect(',');
    return value;
  }

  SpecPtr type() {
    const auto start = skip();
    const auto name = word();
    if (!accept('(')) {
      for (const auto& spec : predefined())
        if (spec->name == name) return spec;
      at_ = start;
      fail(fmt::format("a type: one of {}, or a constructor", fmt::join(type_names(), ", ")));
    }
    if (depth_ == most_depth)
      throw SpecError(fmt::format("datatype text, character {}: nested more than {} deep", start + 1, most_depth));
    ++depth_;
    auto spec = constructor(name, start);
    --depth_;
    expect(')');
    return spec;
  }

  SpecPtr constructor(const std::string& name, std::size_t start) {
    if (name == "dup") return dup(type());
    if (name == "contiguous") {
      const auto count = number();
      return contiguous(count, type());
    }
    if (name == "vector" || name == "hvector") {
      const auto count = number(), length = number(), stride = number();
      return name == "vector" ? vector(count, length, stride, type()) : hvector(count, length, stride, type());
    }
    if (name == "indexed" || name == "hindexed") {
      auto lengths = numbers(), displacements = numbers();
      return (name == "indexed" ? indexed : hindexed)(std::move(lengths), std::move(displacements), type());
    }
    if (name == "indexed_block" || name == "hindexed_block") {
      const auto length = number();
      auto displacements = numbers();
      return (name == "indexed_block" ? indexed_block : hindexed_block)(length, std::move(displacements), type());
    }
    if (name == "struct") {
      auto lengths = numbers(), displacements = numbers();
      return structure(std::move(lengths), std::move(displacements), bracketed([&] { return type(); }));
    }
    if (name == "subarray") {
      const auto sizes = numbers(), subsizes = numbers(), starts = numbers();
      const auto storage = order();
      return subarray(sizes, subsizes, starts, storage, type());
    }
    if (name == "darray") {
      const auto size = number(), rank = number();
      const auto gsizes = numbers();
      const auto distributions = bracketed([&] {
        return choice<Distribution>(
            {{"block", Distribution::block}, {"cyclic", Distribution::cyclic}, {"none", Distribution::none}});
      });
      expect(',');
      const auto arguments = bracketed([&] {
        if (skip() < text_.size() && text_[at_] == 'd')
          return choice<std::int64_t>({{"default", default_distribution_argument}});
        return integer();
      });
      expect(',');
      const auto processes = numbers();
      const auto storage = order();
      return darray(size, rank, gsizes, distributions, arguments, processes, storage, type());
    }
    if (name == "resized") {
      const auto lb = number(), extent = number();
      return resized(lb, extent, type());
    }
    at_ = start;
    fail(
        "dup, contiguous, vector, hvector, indexed, hindexed, indexed_block, hindexed_block, struct, subarray, darray "
        "or resized");
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
