#include "transport/peers/tokens.hpp"

#include <utility>

namespace dunnage::transport::peers {

using shm::Slot;

std::optional<Outgoing> Tokens::offer(std::uint32_t receiver, std::int64_t size, int tag, std::span<const char> head,
                                      Hold names, const ChannelStamp& stamp) {
  const auto& memory = *peers_.memory(receiver);
  auto& theirs = memory.header();
  // The sender counts first and looks then. The receiver refuses first and looks at the count then.
  // So either the receiver sees the count, or the sender sees the refusal.
  theirs.tokens.fetch_add(1);
  std::optional<Outgoing> offered;
  if (theirs.takes_tokens.load())
    offered = slots_.offer({receiver, memory, size, tag, true, Slot::token, head, std::move(names), stamp});
  if (!offered) theirs.tokens.fetch_sub(1);
  return offered;
}

bool Tokens::refuse() {
  auto& header = own_.header();
  header.takes_tokens.store(0);
  return header.tokens.load() != 0;
}

/// A token has only a part of its sender's rank: several ranks may have that part in common.
std::optional<Incoming> Tokens::recognise(std::uint64_t token, std::int64_t length) const {
  for (auto sender = Token::rank(token); sender < peers_.self().ranks; sender += Token::ranks) {
    const auto* memory = peers_.memory(sender);
    if (!memory) continue;
    const auto& slot = memory->slot(Token::slot(token));
    const bool ours = slot.state.load(std::memory_order_acquire) == Slot::offered && slot.kind == Slot::token &&
                      slot.name == token && slot.receiver == peers_.self().rank && slot.size == length;
    if (!ours) continue;
    own_.header().tokens.fetch_sub(1);
    return Incoming(memory, Token::slot(token));
  }
  return std::nullopt;
}

}  // namespace dunnage::transport::peers
