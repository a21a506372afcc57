#include "mpi/triggered/stamped_partitions.hpp"

#include <algorithm>

namespace dunnage::mpi {
namespace {

constexpr std::int64_t largest_word = 8;
// A flag, a claim, and two cells for each word are one line.
static_assert((2 + 2 * dng_most_stamped) * sizeof(dng_word) <= dng_slot_stride);

/// The sum of the word sizes that suit a buffer's layout.
std::int64_t words_of(const PersistentMessage& message) {
  if (!message.buffer.device()) return 0;
  const auto nest = nest_of(*message.buffer.device());
  std::int64_t words = 0;
  for (std::uint64_t word = 1; nest && word <= largest_word; word *= 2)
    if (alignment_of(*nest) % word == 0) words += static_cast<std::int64_t>(word);
  return words;
}

std::int64_t word_of(std::int64_t from_words, std::int64_t to_words, std::int64_t size, std::int64_t partitions) {
  if (partitions <= 0 || size == 0) return 0;
  const auto bytes = size / partitions;
  for (auto word = largest_word; word > 0; word /= 2)
    if ((from_words & to_words & word) && bytes % word == 0)
      return bytes / word <= std::int64_t{dng_most_stamped} ? word : 0;
  return 0;
}

}  // namespace

void offer_stamped_partitions(Draft& draft) {
  if (!draft.stamps) return;
  const auto partitioned = [](const MatchMessage& message) { return message.what.partitions >= 0; };
  for (const auto* side : draft.all_sides())
    for (const auto* messages : {&side->sends, &side->receives})
      if (!std::all_of(messages->begin(), messages->end(), partitioned)) return;
  for (auto* side : draft.all_sides())
    for (auto* messages : {&side->sends, &side->receives})
      for (auto& message : *messages) message.stamped.words = words_of(message.what);
}

void match_stamped_partitions(MatchSide& side) {
  const auto receives = counterparts(side.sends, side.told_receives);
  for (auto& out : side.partitions_out) {
    const auto& told = *receives[static_cast<std::size_t>(out.message - side.sends.data())];
    out.word = word_of(out.message->stamped.words, told.stamped_words, out.size, out.message->what.partitions);
  }
  const auto sends = counterparts(side.receives, side.told_sends);
  for (auto& in : side.partitions_in) {
    const auto& told = *sends[static_cast<std::size_t>(in.message - side.receives.data())];
    in.word = word_of(told.stamped_words, in.message->stamped.words, in.size, in.partitions);
  }
}

void match_own_stamped_partitions(MatchSide& own) {
  for (std::size_t i = 0; i < own.partitions_out.size(); ++i) {
    auto &out = own.partitions_out[i], &in = own.partitions_in[i];
    out.word = in.word =
        word_of(out.message->stamped.words, in.message->stamped.words, out.size, out.message->what.partitions);
  }
}

void forget_stamped_partitions(MatchSide& side) {
  for (auto* const messages : {&side.partitions_out, &side.partitions_in})
    for (auto& message : *messages) message.word = 0;
}

void add_stamped_partitions(DeviceTable& table, const MatchPartitions& message, bool sends) {
  if (message.word == 0) return;
  const auto& what = message.message->what;
  const auto partitions = static_cast<unsigned>(sends ? what.partitions : message.partitions);
  const auto request = message.message->request;
  table.stamps.resize(table.requests.size());
  auto& stamp = table.stamps[request];
  stamp.word = static_cast<unsigned>(message.word);
  stamp.words = static_cast<unsigned>(message.size / message.word) / partitions;
  stamp.layout = layout_of(*nest_of(*what.buffer.device()), stamp.word);
  for (unsigned i = 0; !sends && i < partitions; ++i) table.comes.push_back({static_cast<unsigned>(request), i});
}

}  // namespace dunnage::mpi
