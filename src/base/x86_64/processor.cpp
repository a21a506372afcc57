#include "base/processor.hpp"

#include <array>
#include <cstring>

#include <cpuid.h>

namespace dunnage::base {

Processor this_processor() {
  Processor processor;
  unsigned a = 0, name[3] = {}, b = 0, c = 0, d = 0;
  // __get_cpuid() would first ask how far the leaves reach. In a virtual machine each question
  // takes some microseconds.
  __cpuid(0, a, name[0], name[2], name[1]);
  const auto last = a;
  char text[sizeof name + 1] = {};
  std::memcpy(text, name, sizeof name);
  processor.vendor = text;
  if (last < 1) return processor;
  __cpuid(1, a, b, c, d);
  const auto bits = [a](int from, int count) { return static_cast<int>((a >> from) & ((1u << count) - 1)); };
  // The manuals of both vendors: the extended parts count only from these families on.
  processor.family = bits(8, 4) + (bits(8, 4) == 15 ? bits(20, 8) : 0);
  processor.model = bits(4, 4) + (processor.family == 6 || processor.family >= 15 ? bits(16, 4) << 4 : 0);
  return processor;
}

std::string processor_name() {
  constexpr unsigned first = 0x80000002, last = 0x80000004;
  if (__get_cpuid_max(0x80000000, nullptr) < last) return "unknown";
  std::array<unsigned, 12> words{};
  for (unsigned leaf = first; leaf <= last; ++leaf) {
    unsigned* w = &words[4 * (leaf - first)];
    __cpuid(leaf, w[0], w[1], w[2], w[3]);
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words.data(), sizeof words);
  std::string name(text);
  const auto begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == name.npos ? "unknown" : name.substr(begin, end + 1 - begin);
}

}  // namespace dunnage::base
