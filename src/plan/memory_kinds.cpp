#include "plan/memory_kinds.hpp"

#include <algorithm>

namespace dunnage::plan {
namespace {

bool has(std::string_view kinds, std::string_view kind) {
  for (std::size_t begin = 0; begin <= kinds.size();) {
    const auto end = std::min(kinds.find(',', begin), kinds.size());
    if (kinds.substr(begin, end - begin) == kind) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string with_cuda_kinds(std::string_view kinds) {
  std::string all(kinds);
  for (const auto* kind : {"cuda", "cuda:host", "cuda:device", "cuda:managed"}) {
    if (has(kinds, kind)) continue;
    if (!all.empty()) all += ',';
    all += kind;
  }
  return all;
}

}  // namespace dunnage::plan
