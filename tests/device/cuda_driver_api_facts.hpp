// What a header with the driver's prototypes says.
#pragma once

#include <string>
#include <vector>

namespace dunnage::device {

/// A name, and what the header says about that name: a value, a size and offsets, or a symbol and
/// its type.
struct Fact {
  std::string name, text;
};

std::vector<Fact> facts_of_ours();
std::vector<Fact> facts_of_cuda();
/// CUDA_VERSION in the real <cuda.h>.
int version_of_cuda();

}  // namespace dunnage::device
