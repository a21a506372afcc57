#pragma once

#include "case.hpp"
#include "measure.hpp"

namespace bench {

/// The blog post's size of a launch.
struct LaunchShape {
  Kernel::Dim grid, block;
};

/// Returns the size of a launch. A block's threads fill X, then Y, then Z, until there are no more
/// threads. The grid tiles the region with blocks.
LaunchShape document_launch(std::uint64_t words, std::uint64_t rows, std::uint64_t planes);

/// Returns the largest word that divides a row and keeps every word aligned.
unsigned document_word(const Geometry& g);

/// Adds the blog post's kernel, if the case is two loops over one block.
void add_document(Ways& ways, const Device& device, const Case& subject, bool packing);

}  // namespace bench
