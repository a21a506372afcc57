#include "pack/cuda/plan_reduction.hpp"

#include <algorithm>

namespace dunnage::pack::cuda {

std::uint64_t reduction_blocks(Element element, std::int64_t count, bool wide) {
  const auto per_item = wide ? static_cast<std::uint64_t>(reduction_chunk / facts_of(element).extent) : 1;
  const auto items = (static_cast<std::uint64_t>(count) + per_item - 1) / per_item;
  return (items + block_threads - 1) / block_threads;
}

Launch plan_reduction(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                      std::int64_t count, const Handshake& handshake) {
  const auto& facts = facts_of(element);
  Reduction a;
  auto addresses = to;
  for (const auto source : sources) {
    a.source[a.sources++] = reinterpret_cast<const char*>(source);
    addresses |= source;
  }
  a.to = reinterpret_cast<char*>(to);
  a.count = static_cast<std::uint64_t>(count);
  a.operation = operation;
  a.wide = handshake.ranks ? handshake.wide : addresses % reduction_chunk == 0 && facts.category != Category::located;
  a.handshake = handshake;
  Launch launch;
  launch.id = {KernelId::Family::reduce, Direction::pack, static_cast<std::uint8_t>(element)};
  launch.blocks = reduction_blocks(element, count, a.wide);
  launch.bytes = count * facts.extent;
  launch.parameters = a;
  return launch;
}

}  // namespace dunnage::pack::cuda
