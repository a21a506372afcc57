// Random datatypes for the tests: every combiner, nested, with the awkward cases made likely.
#pragma once

#include <random>

#include "type/spec.hpp"

namespace dunnage::tests {

class RandomSpec {
 public:
  explicit RandomSpec(std::uint64_t seed) : random_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  /// A random type of at most `depth` constructors above a predefined one, of at most `budget`
  /// elements.
  type::SpecPtr operator()(int depth, std::int64_t budget = 400) {
    if (depth == 0) return leaf();
    const auto pick = between(0, 11);
    const auto n = between(0, 4) == 0 ? between(0, 1) : between(1, 5);
    const auto child = (*this)(depth - 1, std::max<std::int64_t>(budget / std::max<std::int64_t>(n, 1), 1));
    const auto scale = [&] { return std::max<std::int64_t>(child->extent, 1); };
    const auto list = [&](std::int64_t low, std::int64_t high, std::int64_t step) {
      type::Ints values;
      for (std::int64_t i = 0; i < n; ++i) values.push_back(between(low, high) * step);
      return values;
    };
    // Sometimes a list that is in truth regular.
    const auto displacements = [&](std::int64_t step) {
      if (between(0, 2)) return list(-6, 20, step);
      type::Ints values;
      const auto stride = between(-4, 6);
      for (std::int64_t i = 0; i < n; ++i) values.push_back(i * stride * step);
      return values;
    };
    const auto lengths = [&] { return between(0, 1) ? type::Ints(n, between(0, 3)) : list(0, 3, 1); };
    switch (pick) {
      case 0: return type::dup(child);
      case 1: return type::contiguous(n, child);
      case 2: return type::vector(n, between(0, 3), between(-4, 6), child);
      case 3: return type::hvector(n, between(0, 3), between(-4, 6) * scale() + between(0, 1) * between(-3, 3), child);
      case 4: return type::indexed(lengths(), displacements(1), child);
      case 5: return type::hindexed(lengths(), displacements(scale()), child);
      case 6: return type::indexed_block(between(0, 3), displacements(1), child);
      case 7: return type::hindexed_block(between(0, 3), displacements(scale()), child);
      case 8: {
        std::vector<type::SpecPtr> types;
        for (std::int64_t i = 0; i < n; ++i)
          types.push_back(between(0, 1) ? child : (*this)(static_cast<int>(between(0, depth - 1)), budget / (n + 1)));
        return type::structure(lengths(), list(-40, 200, 1), types);
      }
      case 9: {
        type::Ints sizes, subsizes, starts;
        for (auto d = between(1, 4); d > 0; --d) {
          sizes.push_back(between(1, 4));
          subsizes.push_back(between(between(0, 8) ? 1 : 0, sizes.back()));
          starts.push_back(between(0, sizes.back() - subsizes.back()));
        }
        return type::subarray(sizes, subsizes, starts, order(), child);
      }
      case 10: {
        type::Ints gsizes, arguments, processes;
        std::vector<type::Distribution> distributions;
        std::int64_t size = 1;
        for (auto d = between(1, 3); d > 0; --d) {
          gsizes.push_back(between(1, 6));
          const auto kind = static_cast<type::Distribution>(between(0, 2));
          distributions.push_back(kind);
          processes.push_back(kind == type::Distribution::none ? 1 : between(1, 3));
          const auto least =
              kind == type::Distribution::block ? (gsizes.back() + processes.back() - 1) / processes.back() : 1;
          arguments.push_back(between(0, 1) || kind == type::Distribution::none ? type::default_distribution_argument
                                                                                : between(least, least + 2));
          size *= processes.back();
        }
        return type::darray(size, between(0, size - 1), gsizes, distributions, arguments, processes, order(), child);
      }
      default: return type::resized(between(-8, 8), child->extent + between(-4, 24), child);
    }
  }

 private:
  type::Order order() { return between(0, 1) ? type::Order::c : type::Order::fortran; }
  type::SpecPtr leaf() {
    switch (between(0, 6)) {
      case 0: return type::basic("byte", 1);
      case 1: return type::basic("short", 2);
      case 2: return type::basic("int", 4);
      case 3: return type::basic("long_double", 16);
      case 4: return type::named("double_int", {{0, 8}, {8, 4}}, 16, 8);
      case 5: return type::named("short_int", {{0, 2}, {4, 4}}, 8, 4);
      default: return type::basic("double", 8);
    }
  }
  std::mt19937_64 random_;
};

}  // namespace dunnage::tests
