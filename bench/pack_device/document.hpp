#pragma once

#include "ways.hpp"

namespace bench {

/// How the document sizes a launch.
struct LaunchShape {
  Kernel::Dim grid, block;
};

/// A block's threads fill X, then Y, then Z, until they are used up; the grid tiles the region with blocks.
LaunchShape document_launch(std::uint64_t words, std::uint64_t rows, std::uint64_t planes);

/// The largest word that divides a row and keeps every one aligned.
unsigned document_word(const Geometry& g);

/// The document's kernel, where the case is two loops over one block.
void add_document(Ways& ways, const Device& device, const Case& subject, bool packing);

}  // namespace bench
