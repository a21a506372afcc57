#include "mpi/triggered/describe.hpp"

#include "mpi/message/gpu_shared.hpp"
#include "mpi/process/proxy.hpp"

namespace dunnage::mpi {
namespace {

using transport::gpu::GpuSource;

/// Memory for a packed copy of a send. Nothing if there is none.
std::optional<PackedCopy> copy_of(const device::Driver& driver, const PersistentMessage& message) {
  const auto size = message.buffer.size();
  auto block = take_block(driver, size);
  if (!block) return std::nullopt;
  const auto place = device::known_place(driver, reinterpret_cast<const void*>(block->address));
  const auto to = transport::gpu::contiguous_at(static_cast<std::uintptr_t>(block->address), size, place);
  return PackedCopy{{*message.buffer.device(), to, size}, std::move(block)};
}
GpuSource source_of(const PackedCopy& copy) { return transport::gpu::describe(copy.block->exported, copy.pack.size); }

/// Where the data of a send are, which are packed first if others cannot read them in place.
std::optional<GpuSource> source_of(const device::Driver& driver, Draft& draft, MatchSide& side,
                                   const PersistentMessage& message) {
  const auto& data = *message.buffer.device();
  if (const auto exported = device::export_of(driver, data.place, process->rank); exported && in_one_piece(data))
    if (const auto there = transport::gpu::describe(data, *exported)) return there;
  const auto copy = copy_of(driver, message);
  if (!copy) return std::nullopt;
  side.packs.push_back(copy->pack);
  draft.made->room.push_back(copy->block);
  return source_of(*copy);
}

/// What this rank's messages to a peer have in short blocks.
pack::gpu::ShortBlocks sent_in_short_blocks(const MatchSide& side) {
  pack::gpu::ShortBlocks all;
  for (const auto& send : side.sends)
    if (send.what.partitions < 0 && send.what.on_device && !send.what.nothing)
      all += pack::gpu::short_blocks_of(*send.what.buffer.device());
  return all;
}

/// The sender writes partitions into the receiver's buffer.
MatchReceive told_of(const device::Driver& driver, const PersistentMessage& receive) {
  MatchReceive told;
  told.comm = receive.comm;
  told.tag = receive.tag;
  told.possible = receive.on_device;
  told.partitions = receive.partitions;
  told.capacity = size_of(receive);
  told.proxy = proxy_possible() && suits_proxy(receive);
  if (told.partitions < 0 || !told.possible || receive.nothing) return told;
  const auto& data = *receive.buffer.device();
  const auto exported = device::export_of(driver, data.place, process->rank);
  const auto target = exported && in_one_piece(data) ? transport::gpu::describe(data, *exported) : std::nullopt;
  told.possible = target.has_value();
  if (target) told.target = *target;
  return told;
}

}  // namespace

void describe_to(const device::Driver& driver, Draft& draft, int rank, MatchSide& side) {
  const auto place = static_cast<std::size_t>(std::distance(draft.sides.begin(), draft.sides.find(rank)));
  side.peer.world_rank = rank;
  if (process->settings.trigger == base::Trigger::proxy)
    side.objection = "DUNNAGE_TRIGGER=proxy";
  else if (!others_read_memory())
    side.objection = "no device memory that other ranks read";
  else if (!process->world->peers.near(static_cast<std::uint32_t>(rank)))
    side.objection = "is not on this host, or has no Dunnage";
  if (side.objection.empty())
    if (const auto board = process->world->publications.publish(sizeof(Board), 1, nullptr,
                                                                transport::shm::Publications::Stay::standing)) {
      new (board->data) Board;
      side.peer.own_board = *board;
    }
  side.opening_out.usable = side.peer.own_board.data != nullptr;
  side.opening_out.proxy = proxy_possible();
  if (proxy_possible()) side.opening_out.farewell_tag = side.farewell_tags.emplace(rank, 1).first();
  side.opening_out.device = draft.means.identity;
  side.opening_out.mps = draft.means.mps;
  side.opening_out.nonce = draft.slots.nonce;
  side.opening_out.block = draft.slots.block->exported;
  side.opening_out.ready = SlotBlock::offset(place);
  side.opening_out.done = SlotBlock::offset(draft.sides.size() + place);
  side.opening_out.arrived = SlotBlock::offset(side.arrived);
  side.opening_out.open = SlotBlock::offset(side.open);
  side.opening_out.board = side.peer.own_board.begin;
  side.opening_out.board_serial = side.peer.own_board.serial;
  // Scratch memory and tables come from the arena later, and must find room.
  const auto in_short_blocks = sent_in_short_blocks(side);
  const bool copies =
      in_short_blocks.much() && static_cast<std::uint64_t>(in_short_blocks.bytes) <= process->settings.device_arena / 4;
  for (const auto& send : side.sends) {
    MatchSend told;
    told.comm = send.what.comm;
    told.tag = send.what.tag;
    told.possible = send.what.on_device;
    told.partitions = send.what.partitions;
    told.size = size_of(send.what);
    side.proxy_tags.push_back(proxy_possible() && suits_proxy(send.what) ? Tags(rank, 1) : Tags());
    told.proxy_tag = side.proxy_tags.back().first();
    told.stamped_words = send.stamped.words;
    if (told.partitions >= 0) {
      told.possible = told.possible && (send.what.nothing || nest_of(*send.what.buffer.device()));
    } else if (told.possible && !send.what.nothing && side.objection.empty()) {
      const auto packed = side.packs.size();
      const auto source = source_of(driver, draft, side, send.what);
      told.possible = source.has_value();
      if (source) told.source = *source;
      if (source && side.packs.size() == packed && copies &&
          pack::gpu::short_blocks_of(*send.what.buffer.device()).bytes > 0)
        if (auto copy = copy_of(driver, send.what)) {
          told.packed = source_of(*copy);
          side.copies.push_back(std::move(*copy));
        }
    }
    side.sends_out.push_back(told);
  }
  for (const auto& receive : side.receives) {
    auto& told = side.receives_out.emplace_back(told_of(driver, receive.what));
    told.stamped_words = receive.stamped.words;
    told.cells = draft.slots.cell(receive.cell);
  }
}

}  // namespace dunnage::mpi
