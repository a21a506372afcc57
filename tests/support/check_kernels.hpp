// One type, one count: the kernels, run on the host, against the brute-force typemap.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "check_program.hpp"
#include "pack/cuda/emulated.hpp"
#include "pack/cuda/launch.hpp"

namespace dunnage::tests {

/// Runs launches on host memory, as the device would.
class EmulatedDevice {
 public:
  EmulatedDevice() {
    for (const auto& kernel : pack::cuda::emulated_kernels()) kernels_[kernel.name] = &kernel;
  }
  /// Whether all launches have a kernel; their names are kept.
  bool run(pack::cuda::Direction direction, std::vector<pack::cuda::Launch> launches) {
    names.clear();
    for (auto& launch : launches) {
      names.push_back(pack::cuda::name_of(launch.id));
      reached().insert(names.back());
      if (const auto* copy = std::get_if<pack::cuda::Copy>(&launch.parameters)) {
        auto *user = reinterpret_cast<char*>(copy->user), *packed = reinterpret_cast<char*>(copy->packed);
        const auto size = static_cast<std::size_t>(copy->size);
        direction == pack::cuda::Direction::pack ? std::memcpy(packed, user, size) : std::memcpy(user, packed, size);
        continue;
      }
      const auto found = kernels_.find(names.back());
      if (found == kernels_.end()) return false;
      found->second->run(launch.address(), launch.blocks, launch.shared,
                         [](const void* p) { return const_cast<void*>(p); });
    }
    return true;
  }
  bool run(pack::cuda::Launch launch) {
    std::vector<pack::cuda::Launch> one;
    one.push_back(std::move(launch));
    return run(pack::cuda::Direction::pack, std::move(one));
  }
  /// Runs one block of a kernel that streams start by its name. Returns whether there is such a
  /// kernel.
  bool run(const std::string& name, const void* parameters, std::uint64_t blocks = 1) {
    const auto found = kernels_.find(name);
    if (found == kernels_.end()) return false;
    reached().insert(name);
    found->second->run(parameters, blocks, 0, [](const void* p) { return const_cast<void*>(p); });
    return true;
  }
  std::vector<std::string> names;  // of the last run
  /// Of all runs in this process.
  static std::set<std::string>& reached() {
    static std::set<std::string> all;
    return all;
  }

 private:
  std::map<std::string, const pack::cuda::EmulatedKernel*> kernels_;
};

/// What is wrong, or nothing. Packs and unpacks whole and in ranges, on any alignment, between
/// guards.
inline std::optional<std::string> check_kernels(EmulatedDevice& device, const type::Spec& spec, std::int64_t count,
                                                const Between& between) {
  using pack::cuda::Direction;
  const auto layout = type::layout_of(spec);
  const pack::cuda::Recipe recipe(layout, count);
  const auto n = recipe.size();
  if (n != spec.size * count) return "the recipe's size";
  std::vector<std::int64_t> aligned(recipe.constants_size() / 8 + 4);
  const auto constants = (reinterpret_cast<std::uintptr_t>(aligned.data()) + 15) / 16 * 16;
  const auto bytes = recipe.constants_at(constants);
  if (!bytes.empty()) std::memcpy(reinterpret_cast<void*>(constants), bytes.data(), bytes.size());

  // Often well aligned, or all kernels for wide words would go untested.
  const auto shift = [&] { return between(0, 2) == 0 ? between(0, 15) : 8 * between(0, 1); };
  Buffer user(layout, count, 0, shift());
  user.number();
  std::vector<unsigned char> expected(static_cast<std::size_t>(n));
  type::typemap_pack(spec, count, user.base(), expected.data());
  constexpr std::int64_t guard = 64;
  std::vector<unsigned char> room(static_cast<std::size_t>(n + 3 * guard));
  const auto run = [&](Direction direction, void* base, std::int64_t shifted,
                       bool pieces) -> std::optional<std::string> {
    auto* packed = reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(room.data()) + 15) / 16 * 16 +
                                                    guard + static_cast<std::uintptr_t>(shifted));
    if (direction == Direction::pack)
      std::fill(room.begin(), room.end(), 0xA5);
    else
      std::copy(expected.begin(), expected.end(), packed);
    for (std::int64_t begin = 0; begin < n;) {
      const auto end = pieces ? std::min(n, begin + 16 * between(1, 8)) : n;
      const pack::cuda::Job job{&recipe,
                                reinterpret_cast<std::uintptr_t>(base),
                                reinterpret_cast<std::uintptr_t>(packed + begin),
                                begin,
                                end,
                                constants};
      if (!device.run(direction, pack::cuda::plan(direction, {&job, 1}))) return "no kernel " + device.names.back();
      begin = end;
    }
    if (direction == Direction::unpack) return std::nullopt;
    if (!std::equal(expected.begin(), expected.end(), packed)) return "packed bytes";
    if (packed[-1] != 0xA5 || packed[n] != 0xA5) return "packing wrote outside";
    return std::nullopt;
  };
  for (const bool pieces : {false, true}) {
    if (auto wrong = run(Direction::pack, user.base(), shift(), pieces)) return *wrong + (pieces ? " (in pieces)" : "");
    if (overlaps(spec, count)) continue;
    const auto misalign = shift();
    Buffer want(layout, count, 0xC3, misalign), got(layout, count, 0xC3, misalign);
    type::typemap_unpack(spec, count, expected.data(), want.base());
    if (auto wrong = run(Direction::unpack, got.base(), shift(), pieces)) return wrong;
    if (want.bytes != got.bytes) return std::string("unpacked bytes") + (pieces ? " (in pieces)" : "");
  }
  return std::nullopt;
}

}  // namespace dunnage::tests
