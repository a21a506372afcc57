#include "pack/cuda/plan_reduction.hpp"

#include <algorithm>

namespace dunnage::pack::cuda {

Launch plan_reduction(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                      std::int64_t count) {
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
  a.wide = addresses % reduction_chunk == 0 && facts.category != Category::located;
  const auto per_item = a.wide ? static_cast<std::uint64_t>(reduction_chunk / facts.extent) : 1;
  const auto items = (a.count + per_item - 1) / per_item;
  Launch launch;
  launch.id = {KernelId::Family::reduce, Direction::pack, static_cast<std::uint8_t>(element)};
  launch.blocks = (items + block_threads - 1) / block_threads;
  launch.bytes = count * facts.extent;
  launch.parameters = a;
  return launch;
}

}  // namespace dunnage::pack::cuda
