#include "collective/build.hpp"

namespace dunnage::collective {
namespace {

/// Passes segments from a parent to children. Each step receives the next segment and sends the one
/// before it.
template <class Children>
void pass_on(Build& build, std::int32_t parent, const Children& children) {
  const bool is_root = build.self() == 0;
  for (std::int64_t i = is_root ? 1 : 0; i <= build.segments(); ++i) {
    if (!is_root) build.receive(parent, build.segment(i));
    for (const auto child : children)
      if (child < build.operation().ranks) build.send(static_cast<std::int32_t>(child), build.segment(i - 1));
    build.end_step();
  }
}

}  // namespace

void build_chain(Build& build) { pass_on(build, build.self() - 1, std::array{build.self() + 1}); }

void build_binary_tree(Build& build) {
  const auto r = std::int64_t{build.self()};
  pass_on(build, static_cast<std::int32_t>((r - 1) / 2), std::array{2 * r + 1, 2 * r + 2});
}

}  // namespace dunnage::collective
