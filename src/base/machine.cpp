#include "base/machine.hpp"

#include <array>
#include <cstring>

#include <cpuid.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/cache.hpp"
#include "base/format.hpp"

namespace dunnage::base {

namespace {

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

}  // namespace

const Machine& this_machine() {
  static const Machine machine{processor_name(), static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), second_level_cache()};
  return machine;
}

std::string describe(const Machine& m) {
  return fmt::format("{}, {} cores, {} of second-level cache", m.processor, m.cores,
                     format_bytes(static_cast<std::uint64_t>(m.second_level_cache)));
}

std::string short_hash(const Machine& m) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  const auto text = fmt::format("{}\n{}\n{}", m.processor, m.cores, m.second_level_cache);
  for (const unsigned char c : text) hash = (hash ^ c) * 16777619u;
  return fmt::format("{:08x}", hash);
}

}  // namespace dunnage::base
