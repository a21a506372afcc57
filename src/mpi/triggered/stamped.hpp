// Which short messages of an exchange go by stamped words (pack/cuda/stamped.hpp): all messages
// from one rank to another, or none.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// Before the slots are made: which messages could go like that, and how many cells this rank needs
/// for those that it receives.
void offer_stamped(Draft& draft);
/// After both have told: what goes like that if both ranks' streams wait by kernels.
void match_stamped(const SlotBlock& slots, MatchSide& side);
/// Makes the launches for all peers.
void assemble_stamped(Draft& draft);

}  // namespace dunnage::mpi
