#include "pack/cuda/reduce_on_host.hpp"

#include "pack/cuda/plan_reduction.hpp"
#include "pack/cuda/reduce.hpp"

namespace dunnage::pack::cuda {

void reduce_on_host(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                    std::int64_t count) {
  const auto launch = plan_reduction(element, operation, sources, to, count);
  const auto& reduction = std::get<Reduction>(launch.parameters);
  const auto items = launch.blocks * block_threads;
  switch (element) {
#define DUNNAGE_REDUCE(name, ...)                                                          \
  case Element::name:                                                                      \
    for (std::uint64_t i = 0; i < items; ++i) reduce_and_write<__VA_ARGS__>(reduction, i); \
    break;
    DUNNAGE_REDUCTION_ELEMENTS(DUNNAGE_REDUCE)
#undef DUNNAGE_REDUCE
  }
}

}  // namespace dunnage::pack::cuda
