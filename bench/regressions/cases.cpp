#include "regressions/cases.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "pack/basic_layouts.hpp"
#include "pack/patterns.hpp"

namespace bench::regressions {
namespace {

/// A shape whose payload grows with its number of elements.
struct Shape {
  std::string_view name;
  std::size_t element;  // bytes of payload
  Layout (*layout)(int elements);
};

using enum bench::Element;

constexpr std::array shapes = {
    Shape{"contiguous", 8, [](int n) { return vector(float64, 1, n, n); }},
    Shape{"double 1/2", 8, [](int n) { return vector(float64, n, 1, 2); }},
    Shape{"float 1/2", 4, [](int n) { return vector(float32, n, 1, 2); }},
    Shape{"double 1/16", 8, [](int n) { return vector(float64, n, 1, 16); }},
    Shape{"double 8/16", 64, [](int n) { return vector(float64, n, 8, 16); }},
    Shape{"double 128/256", 1024, [](int n) { return vector(float64, n, 128, 256); }},
    Shape{"double 512/1024", 4096, [](int n) { return vector(float64, n, 512, 1024); }},
    Shape{"indexed_block double 1", 8, [](int n) { return irregular(n, 1); }},
    Shape{"indexed_block double 4", 32, [](int n) { return irregular(n, 4); }},
    Shape{"struct int double2 float5", 40, [](int n) { return structures(n); }},
};

constexpr std::array<std::string_view, 6> ddtbench = {"WRF", "MILC", "NAS", "FFT2", "LAMMPS", "SPECFEM3D"};

bool from_ddtbench(const Pattern& pattern) {
  return std::ranges::any_of(ddtbench, [&](auto application) { return pattern.name.starts_with(application); });
}

}  // namespace

std::vector<Case> cases(const std::vector<long>& sizes) {
  std::vector<Case> all;
  for (const auto& shape : shapes)
    for (const auto size : sizes) {
      const auto elements = static_cast<std::size_t>(size) / shape.element;
      if (elements == 0) continue;
      all.push_back({std::string(shape.name), std::to_string(elements * shape.element) + " bytes",
                     [&shape, elements] { return shape.layout(static_cast<int>(elements)); }});
    }
  for (const auto& pattern : patterns())
    if (from_ddtbench(pattern))
      all.push_back({pattern.name, pattern.size == Size::large ? "large" : "small", pattern.layout});
  return all;
}

}  // namespace bench::regressions
