// A message between two layouts, for tests of the kernels that move it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../support/check_kernels.hpp"
#include "../../support/random_nest.hpp"
#include "type/text.hpp"

namespace dunnage::pack::cuda {

/// A message with its buffers, and what the receiver's buffer must hold at the end.
struct Message {
  type::SpecPtr from_spec, to_spec;
  std::int64_t size;  // packed bytes; the receiver's type may have more
  type::Layout from_layout = type::layout_of(*from_spec), to_layout = type::layout_of(*to_spec);
  Recipe from_recipe{from_layout, 1}, to_recipe{to_layout, 1};
  tests::Buffer from, want, got;

  Message(type::SpecPtr a, type::SpecPtr b, int misaligned)
      : from_spec(std::move(a)),
        to_spec(std::move(b)),
        size(from_spec->size),
        from(from_layout, 1, 0, misaligned),
        want(to_layout, 1, 0xC3, misaligned),
        got(to_layout, 1, 0xC3, misaligned) {
    from.number();
    expect();
  }
  /// Makes `want` what the receiver's buffer must hold.
  void expect() {
    std::vector<unsigned char> packed(static_cast<std::size_t>(to_spec->size)), before(packed);
    // What the message does not fill keeps its value.
    type::typemap_pack(*to_spec, 1, want.base(), packed.data());
    type::typemap_pack(*from_spec, 1, from.base(), packed.data());
    type::typemap_unpack(*to_spec, 1, packed.data(), want.base());
  }
  MoveJob job() {
    return {&from_recipe, reinterpret_cast<std::uintptr_t>(from.base()), &to_recipe,
            reinterpret_cast<std::uintptr_t>(got.base()), size};
  }
};

/// One nest, or a struct of two.
inline std::string random_layout(tests::RandomSpec& random, std::int64_t size, std::int64_t unit) {
  if (random.between(0, 2) || size < 2 * unit) return tests::random_nest(random, size, unit);
  const auto first = unit * random.between(1, size / unit - 1);
  const auto a = tests::random_nest(random, first, unit), b = tests::random_nest(random, size - first, unit);
  const auto a_spec = type::parse(a), b_spec = type::parse(b);
  const auto a_data = type::layout_of(*a_spec).data, b_data = type::layout_of(*b_spec).data;
  const auto at = a_data.offset + a_data.node->high - b_data.offset - b_data.node->low + unit * random.between(0, 3);
  return "struct([1,1],[0," + std::to_string(at) + "],[" + a + "," + b + "])";
}

/// A message between two random layouts, of which the receiver's may have more room. Null if the
/// receiver's bytes overlap.
inline std::unique_ptr<Message> random_message(tests::RandomSpec& random) {
  const std::int64_t unit = std::int64_t{1} << random.between(0, 4);
  const auto size = unit * random.between(1, 30) * random.between(1, 12);
  const auto more = random.between(0, 4) == 0 ? unit * random.between(1, 20) : 0;
  const auto from = type::parse(random_layout(random, size, unit));
  const auto to = type::parse(random_layout(random, size + more, unit));
  if (tests::overlaps(*to, 1)) return nullptr;
  const auto misaligned = random.between(0, 3) == 0 ? static_cast<int>(random.between(0, 15)) : 0;
  return std::make_unique<Message>(from, to, misaligned);
}

}  // namespace dunnage::pack::cuda
