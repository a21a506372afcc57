#include <cstring>

#include "calls/accept.hpp"
#include "calls/communicators.hpp"
#include "calls/content.hpp"
#include "calls/gpu_own.hpp"
#include "calls/gpu_passing.hpp"
#include "calls/gpu_tickets.hpp"
#include "calls/peers.hpp"
#include "device/passed.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {

using engine::GpuSource;
using plan::GpuWay;

static_assert(sizeof(GpuSource) <= transport::shm::head_size);
static_assert(sizeof(GpuSource) + sizeof(transport::Ticket) <= static_cast<std::size_t>(transport::gpu_lengths.least));

namespace {

/// Whether that is by rings in shared memory.
bool shared(GpuWay way) { return way == GpuWay::shared_forced || way == GpuWay::shared_unread; }

/// The way of data to a rank of MPI_COMM_WORLD, if there is room for it; goes a step towards a better one.
GpuWay way_to(const engine::Content& content, std::uint32_t receiver) {
  const auto path = context->settings.gpu_path;
  auto& world = *context->world;
  if (path == base::GpuPath::pass || !world.reaches(receiver)) return GpuWay::staged_alone;
  const bool token = content.size() < world.gpu_ticket(receiver).least_size();
  if (!gpu_tickets() || (token && !(transport::token_length(content.size()) && world.takes_tokens(receiver)))) return GpuWay::staged_small;
  const auto* data = content.device();
  if (!data || !in_one_piece(*data)) return GpuWay::staged_scattered;
  const auto& driver = *device::driver();
  const auto most_shared = token ? 0 : static_cast<std::int64_t>(context->settings.ticket_memory);  // a token cannot say that data are there
  return plan::gpu_way(context->model.gpu, content.size(), path != base::GpuPath::staged, most_shared, [&] {
    return world.reads_gpu(receiver, [&] { return make_proof(driver, data->place); }) &&
           (data->place.memory != device::Memory::device || data->place.device == own().proved);
  });
}

}  // namespace

GpuRoute gpu_route(const void* buffer, std::int64_t count, MPI_Datatype type, const KnownType* known, std::uint32_t receiver) try {
  if (surely_host(buffer)) return {};
  auto content = on_gpu(buffer, count, type, known);
  if (!content) return {};
  const auto way = way_to(*content, receiver);
  return way == GpuWay::direct || shared(way) ? GpuRoute{std::move(*content), way} : GpuRoute();
} catch (const std::exception&) {
  return {};
}

plan::GpuWay way_without_ticket(Hook hook, const engine::Content& content, int peer, MPI_Comm comm) try {
  if (operation_of(hook) == plan::Operation::buffered_send || hook == Hook::MPI_Sendrecv_replace || hook == Hook::MPI_Sendrecv_replace_c) return GpuWay::staged_mode;
  if (passes_to(peer, comm) && content.device()) return plan::passed_way(context->model.gpu, content.size(), false);
  const auto rank = context->world ? world_rank(comm, peer) : -1;
  const auto way = rank < 0 ? GpuWay::staged_alone : way_to(content, static_cast<std::uint32_t>(rank));
  return way == GpuWay::direct || shared(way) ? GpuWay::staged_full : way;
} catch (const std::exception&) {
  return GpuWay::staged_full;
}

std::shared_ptr<const device::Arena::Block> gpu_block(const engine::Content& content, std::int64_t size) try {
  const auto& driver = *device::driver();
  const device::Scope scope(driver, context_of(driver, content.device()->place));
  return take_block(driver, size);
} catch (const std::exception&) {
  return nullptr;
}

GpuOffer gpu_offer(const engine::Content& content, std::uint32_t receiver) try {
  const auto& driver = *device::driver();
  const auto& data = *content.device();
  std::optional<GpuSource> source;
  GpuOffer offer;
  std::optional<device::Scope> scope;  // known exports need none
  const auto enter = [&] { scope.emplace(driver, context_of(driver, data.place)); };
  if (const auto exported = device::export_of(driver, data.place, context->rank)) {
    source = engine::describe(data, *exported);
  } else if (enter(); const auto mapping = device::mapping_of(driver, data.place, context->rank)) {
    source = engine::describe(data, *mapping);
    if (source && holds(receiver, driver, *mapping))
      offer.named = passed_as(*mapping);
    else
      source.reset();
  }
  if (source) {
    say(offer, *source);
    return offer;
  }
  if (transport::token_length(content.size())) return {};  // staged in less time
  if (!scope) enter();
  if (!offer_block(driver, offer, content.size())) return {};
  return offer;
} catch (const std::exception&) {
  return {};
}

}  // namespace dunnage::calls
