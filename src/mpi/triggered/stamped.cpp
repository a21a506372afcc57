#include "mpi/triggered/stamped.hpp"

#include <algorithm>

namespace dunnage::mpi {
namespace {

using pack::cuda::most_stamped_entries;

/// The messages of two senders share no cache line.
constexpr std::uint64_t cells_of_line = pack::cuda::slot_stride / sizeof(std::uint64_t);

/// One launch must have room for all of them.
void judge_sides(std::vector<MatchMessage*> messages) {
  std::int64_t entries = 0;
  for (auto* message : messages) {
    const auto& what = message->what;
    if (what.partitions >= 0 || !what.buffer.device()) continue;
    const auto& data = *what.buffer.device();
    message->stamped = pack::cuda::stamped_side(data.recipe->recipe, data.address());
    entries += message->stamped.entries;
  }
  if (entries > most_stamped_entries)
    for (auto* message : messages) message->stamped = {};
}

/// Partitions go otherwise (stamped_partitions.hpp).
std::int64_t word_of(const MatchMessage& message, std::int64_t from_words, std::int64_t to_words, std::int64_t size) {
  return message.what.partitions >= 0 ? 0 : pack::cuda::stamped_word_of(from_words, to_words, size);
}

}  // namespace

void offer_stamped(Draft& draft) {
  std::vector<MatchMessage*> sends, receives;
  for (auto& [rank, side] : draft.sides) {
    for (auto& send : side.sends) sends.push_back(&send);
    for (auto& receive : side.receives) receives.push_back(&receive);
  }
  judge_sides(sends);
  judge_sides(receives);
  for (auto* receive : receives) {
    if (receive->stamped.words == 0) continue;
    receive->cell = draft.slots.cells;
    const auto words = std::min<std::int64_t>(size_of(receive->what), pack::cuda::most_stamped_words);
    draft.slots.cells += (static_cast<std::uint64_t>(words) + cells_of_line - 1) / cells_of_line * cells_of_line;
  }
}

void match_stamped(const SlotBlock& slots, MatchSide& side) {
  const auto all_or_none = [](std::vector<StampedMessage>& messages) {
    if (std::any_of(messages.begin(), messages.end(), [](const auto& m) { return m.word == 0; })) messages.clear();
  };
  const auto receives = counterparts(side.sends, side.told_receives);
  for (std::size_t s = 0; s < side.sends.size(); ++s) {
    const auto& send = side.sends[s];
    const auto size = size_of(send.what);
    side.stamped_out.push_back({&send, side.peer.block->begin() + receives[s]->cells, size,
                                word_of(send, send.stamped.words, receives[s]->stamped_words, size)});
  }
  const auto sends = counterparts(side.receives, side.told_sends);
  for (std::size_t r = 0; r < side.receives.size(); ++r) {
    const auto& receive = side.receives[r];
    side.stamped_in.push_back({&receive, slots.block->address + slots.cell(receive.cell), sends[r]->size,
                               word_of(receive, sends[r]->stamped_words, receive.stamped.words, sends[r]->size)});
  }
  all_or_none(side.stamped_out);
  all_or_none(side.stamped_in);
}

void assemble_stamped(Draft& draft) {
  std::vector<pack::cuda::FusedEntry> out, in;
  const auto add = [](std::vector<pack::cuda::FusedEntry>& entries, const std::vector<StampedMessage>& messages) {
    for (const auto& message : messages) {
      const auto& data = *message.message->what.buffer.device();
      pack::cuda::add_stamped(entries, data.recipe->recipe, data.address(), static_cast<std::uintptr_t>(message.cells),
                              message.size, message.word);
    }
  };
  for (const auto* side : draft.peers) add(out, side->stamped_out), add(in, side->stamped_in);
  auto& e = *draft.made;
  const auto fill = [&](pack::cuda::StampedExchange& launch, const std::vector<pack::cuda::FusedEntry>& entries,
                        bool sends) {
    launch.epoch = draft.slots.epoch();
    launch.broken = reinterpret_cast<const std::uint64_t*>(draft.slots.at(0));
    launch.broken_from = error_epoch;
    launch.sends = sends;
    launch.entries = static_cast<std::uint32_t>(entries.size());
    std::copy(entries.begin(), entries.end(), launch.entry);
  };
  fill(e.stamped_out, out, true);
  fill(e.stamped_in, in, false);
}

}  // namespace dunnage::mpi
