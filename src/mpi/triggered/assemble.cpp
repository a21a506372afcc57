#include "mpi/triggered/assemble.hpp"

#include <algorithm>
#include <set>

#include "mpi/process/gpu_use.hpp"
#include "mpi/triggered/stamped.hpp"
#include "mpi/triggered/stamped_partitions.hpp"
#include "mpi/triggered/upload.hpp"
#include "mpi/triggered/waiting_blocks.hpp"

namespace dunnage::mpi {
namespace {

constexpr std::uint64_t stride = pack::cuda::slot_stride;

/// `flags`: the first of this rank's flags in the peer's memory.
void add_partitions(Draft& draft, const MatchSide& side, std::uintptr_t flags) {
  auto& requests = draft.made->table.requests;
  if (side.partitions_out.empty() && side.partitions_in.empty()) return;
  requests.resize(draft.count);
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<char*>(address); };
  for (const auto& out : side.partitions_out) {
    const auto& what = out.message->what;
    const auto from = what.nothing ? Nest{} : *nest_of(*what.buffer.device());
    const auto first = static_cast<std::uint64_t>(out.flag) * stride;
    auto& request = requests[out.message->request];
    request = send_between(from, out.to, what.partitions, what.partitions ? out.size / what.partitions : 0);
    request.others = static_cast<unsigned>(out.partitions);
    request.open = at(draft.slots.at(side.open));
    request.arrived = at(flags + first);
    request.sent = at(draft.slots.at(side.sent) + first);
    add_stamped_partitions(draft.made->table, out, true);
  }
  for (const auto& in : side.partitions_in) {
    const auto& what = in.message->what;
    auto& request = requests[in.message->request];
    request.kind = dng_receive;
    request.partitions = static_cast<unsigned>(what.partitions);
    request.others = static_cast<unsigned>(in.partitions);
    request.size = static_cast<dng_word>(what.partitions ? size_of(what) / what.partitions : 0);
    request.other_size = static_cast<dng_word>(in.partitions ? in.size / in.partitions : 0);
    request.arrived = at(draft.slots.at(side.arrived) + static_cast<std::uint64_t>(in.flag) * stride);
    add_stamped_partitions(draft.made->table, in, false);
  }
}

/// Adds slots that are waited for, but `others`. `reads`: as in dng_slots.
void add_waits(std::vector<dng_slots>& waits, const SlotBlock& slots, std::size_t first, std::uint64_t count,
               const std::set<std::uintptr_t>& others, bool reads) {
  for (bool goes_on = false; count > 0; ++first, --count) {
    const auto slot = slots.at(first);
    const bool wanted = !others.contains(slot);
    if (wanted && !goes_on) waits.push_back({reinterpret_cast<char*>(slot), 0, reads});
    if (wanted) ++waits.back().count;
    goes_on = wanted;
  }
}

/// After the signals.
void make_table(const device::Driver& driver, device::Gpu& gpu, Draft& draft, std::vector<std::uintptr_t> opens) {
  auto& e = *draft.made;
  e.table.opens = std::move(opens);
  e.table.header.epoch = reinterpret_cast<dng_word*>(e.wait_done.epoch);
  e.table.header.wait = reinterpret_cast<char*>(draft.slots.at(draft.sides.size()));
  e.table.header.waits = e.wait_done.waits;
  auto room = take_block(driver, static_cast<std::int64_t>(e.table.size()));
  if (!room) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no device memory for the partitions of an exchange");
  const auto bytes = e.table.bytes_at(static_cast<std::uintptr_t>(room->address));
  upload(driver, gpu, room->address, bytes.data(), bytes.size());
  e.table_on_device = reinterpret_cast<DNG_Device>(room->address);
  e.room.push_back(std::move(room));
}

/// Slots for which nobody waits get a great epoch at once.
void make_signals(const device::Driver& driver, device::Gpu& gpu, Draft& draft) {
  const auto& slots = draft.slots;
  auto& e = *draft.made;
  const auto all = draft.sides.size();
  e.first_slot = slots.at(0);
  e.slots = slots.count;
  std::set<std::uintptr_t> settled;  // slots for which kernels do not wait
  const auto retire = [&](std::size_t first, std::uint64_t count) {
    retire_slots(driver, gpu, slots.at(first), count);
    for (std::uint64_t i = 0; i < count; ++i) settled.insert(slots.at(first + i));
  };
  std::vector<std::uintptr_t> opens;
  std::size_t place = 0;
  bool sends = false, waits_for_ready = false;
  for (auto& [rank, side] : draft.sides) {
    const bool direct = std::find(draft.peers.begin(), draft.peers.end(), &side) != draft.peers.end();
    const bool to = direct && side.partitions_out.size() < side.sends.size();
    const bool from = direct && side.partitions_in.size() < side.receives.size();
    const auto there = [&](std::uint64_t offset) {
      return static_cast<std::uintptr_t>(side.peer.block->begin()) + offset;
    };
    const bool flagged_to = to && side.stamped_out.empty(), flagged_from = from && side.stamped_in.empty();
    sends = sends || to;
    waits_for_ready = waits_for_ready || flagged_from;
    if (flagged_to) e.ready_targets.push_back(there(side.opening.ready));
    if (from) e.done_targets.push_back(there(side.opening.done));
    if (direct && !side.partitions_in.empty()) opens.push_back(there(side.opening.open));
    if (direct) add_partitions(draft, side, there(side.opening.arrived));
    // A peer may have written the others already.
    if (!flagged_from) retire(place, 1);
    if (!to) retire(all + place, 1);
    if (!direct) retire(side.arrived, side.incoming), retire(side.sent, side.outgoing);
    e.messages = e.messages || to || from;
    ++place;
  }
  e.messages = e.messages || !draft.own_moves.empty();
  if (draft.own.partitions_out.empty())
    retire(draft.own.arrived, draft.own.incoming), retire(draft.own.sent, draft.own.outgoing);
  else
    opens.push_back(slots.at(draft.own.open)), add_partitions(draft, draft.own, slots.at(draft.own.arrived));
  if (e.proxied) {
    const auto wait_for = [&](std::uintptr_t word, bool due) {
      pack::cuda::Signal signal;
      signal.epoch = slots.epoch();
      signal.wait = reinterpret_cast<const char*>(word);
      signal.waits = due;
      return signal;
    };
    e.messages = true;
    e.ready_targets.push_back(e.proxied->started());
    e.wait_received = wait_for(e.proxied->received(), e.proxied->receives());
    e.wait_sent = wait_for(e.proxied->sent(), e.proxied->sends());
  }
  e.ready_targets.insert(e.ready_targets.end(), opens.begin(), opens.end());
  std::vector<std::uint64_t> table(e.ready_targets.begin(), e.ready_targets.end());
  table.insert(table.end(), e.done_targets.begin(), e.done_targets.end());
  if (!table.empty())
    upload(driver, gpu, static_cast<CUdeviceptr>(slots.tables()), table.data(), table.size() * sizeof table[0]);
  e.tell_ready = slots.telling(e.ready_targets, 0, 1);
  e.tell_done = slots.telling(e.done_targets, e.ready_targets.size(), 0);
  e.wait_ready = slots.waiting(0, waits_for_ready ? all : 0);
  e.wait_done = slots.waiting(all, sends || slots.waited > 2 * all ? slots.waited - all : 0);
  for (const auto& one : e.table.comes)
    settled.insert(reinterpret_cast<std::uintptr_t>(e.table.requests[one.request].arrived) + one.partition * stride);
  for (const auto* side : draft.all_sides()) {
    add_waits(e.table.waits, slots, side->arrived, side->incoming, settled, true);
    add_waits(e.table.waits, slots, side->sent, side->outgoing, settled, false);
  }
  if (!e.table.requests.empty()) make_table(driver, gpu, draft, std::move(opens));
}

std::unique_ptr<ProxiedExchange> proxied_exchange(device::Gpu& gpu, Draft& draft) {
  std::vector<ProxiedMessage> messages;
  std::vector<std::shared_ptr<Farewell>> farewells;
  for (auto* side : draft.proxied) {
    for (auto& message : side->proxied) messages.push_back(std::move(message));
    farewells.push_back(side->farewell);
  }
  return std::make_unique<ProxiedExchange>(gpu, std::move(messages), std::move(farewells));
}

}  // namespace

void assemble(Draft& draft) {
  auto& e = *draft.made;
  const auto& driver = *device::driver();
  const device::Scope scope(driver, draft.context);
  auto& gpu = device::Gpu::current(driver);
  std::vector<pack::gpu::MoveRange> packs, moves, unpacks;
  const auto add = [](std::vector<pack::gpu::MoveRange>& ranges, const std::vector<PlannedMove>& planned) {
    for (const auto& move : planned) ranges.push_back({move.from, move.to, move.size});
  };
  add(moves, draft.own_moves);
  for (const auto* side : draft.proxied) add(packs, side->proxy_packs), add(unpacks, side->proxy_unpacks);
  for (auto* side : draft.peers) {
    if (side->stamped_out.empty()) add(packs, side->packs);
    for (std::size_t i = 0; side->stamped_in.empty() && i < side->sources.size(); ++i)
      moves.push_back({side->sources[i].first, *side->sources[i].second->what.buffer.device(), side->sizes[i]});
    e.imports.insert(e.imports.end(), side->mappings.begin(), side->mappings.end());
  }
  const auto room = [&](std::int64_t size) -> CUdeviceptr {
    if (size == 0) return 0;
    auto taken = take_block(driver, size);
    if (!taken) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no device memory for messages between two layouts");
    e.room.push_back(taken);
    return taken->address;
  };
  const auto prepared = [&](const std::vector<pack::gpu::MoveRange>& ranges) {
    return pack::gpu::Prepared(gpu, ranges, room(pack::gpu::Prepared::scratch_size(ranges)));
  };
  e.packs = prepared(packs);
  e.moves = prepared(moves);
  e.unpacks = prepared(unpacks);
  e.lane = std::make_unique<device::Borrowed>(gpu);
  e.block = draft.slots.block;
  e.context = draft.context;
  if (!draft.proxied.empty()) e.proxied = proxied_exchange(gpu, draft);
  assemble_stamped(draft);
  make_signals(driver, gpu, draft);
  if (e.wait_ready.waits > 0 && !e.moves.small(e.wait_ready, e.tell_done))
    e.waiting_blocks = take_waiting_blocks(driver, e.moves, draft.means);
  e.gpu = &gpu;
  for (auto* side : draft.peers) e.peers.push_back(std::move(side->peer));
  for (const auto* side : draft.proxied)
    if (process->world && process->world->peers.near(static_cast<std::uint32_t>(side->peer.world_rank)))
      e.peers.emplace_back().world_rank = side->peer.world_rank;
  e.record();
  if (!e.peers.empty() || e.proxied) watch(e);
}

}  // namespace dunnage::mpi
