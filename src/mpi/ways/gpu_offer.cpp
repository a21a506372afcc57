#include "mpi/ways/gpu_offer.hpp"

#include <cstring>

#include "device/passed.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/process/gpu_passing.hpp"

namespace dunnage::mpi {

using transport::gpu::GpuSource;

static_assert(sizeof(GpuSource) <= transport::shm::SlotDetails::head_size);
static_assert(sizeof(GpuSource) + sizeof(transport::Ticket) <= static_cast<std::size_t>(transport::gpu_lengths.least));

void say(GpuOffer& offer, const GpuSource& source) {
  offer.head.resize(sizeof source);
  std::memcpy(offer.head.data(), &source, sizeof source);
}

bool offer_block(const device::Driver& driver, GpuOffer& offer, std::int64_t size) {
  process->world->publications.collect();  // blocks that receivers are done with
  const auto block = take_block(driver, size);
  if (!block) return false;
  say(offer, transport::gpu::describe(block->exported, size));
  offer.address = static_cast<std::uintptr_t>(block->address);
  offer.memory = block;
  return true;
}

GpuOffer gpu_offer(const memory::Buffer& buffer, std::uint32_t receiver) try {
  const auto& driver = *device::driver();
  const auto& data = *buffer.device();
  std::optional<GpuSource> source;
  GpuOffer offer;
  std::optional<device::Scope> scope;  // memory that was exported before needs no current context
  const auto enter = [&] { scope.emplace(driver, context_of(driver, data.place)); };
  if (const auto exported = device::export_of(driver, data.place, process->rank)) {
    source = transport::gpu::describe(data, *exported);
  } else if (enter(); const auto mapping = device::mapping_of(driver, data.place, process->rank)) {
    source = transport::gpu::describe(data, *mapping);
    if (source) offer.named = holds(receiver, driver, *mapping);
    if (!offer.named) source.reset();
  }
  if (source && !better_packed_for(receiver, data)) {
    say(offer, *source);
    return offer;
  }
  if (transport::token_length(buffer.size())) return {};  // staging such a short message is faster than a packed copy
  if (!scope) enter();
  if (offer_block(driver, offer, buffer.size())) return offer;
  if (!source) return {};
  say(offer, *source);
  return offer;
} catch (const std::exception&) {
  return {};
}

}  // namespace dunnage::mpi
