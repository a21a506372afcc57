// Which partitions go by stamped words (struct dng_stamp of include/dunnage_device.cuh): those of
// a few words, if both ranks' streams wait by kernels, and both have partitioned messages only.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// Before the ranks tell each other: which partitions could go like that.
void offer_stamped_partitions(Draft& draft);
/// After both have told.
void match_stamped_partitions(MatchSide& side);
/// The messages of this rank to itself.
void match_own_stamped_partitions(MatchSide& own);
/// None of them goes like that.
void forget_stamped_partitions(MatchSide& side);
/// Puts those of a message into the table. `sends`: whether this rank does.
void add_stamped_partitions(DeviceTable& table, const MatchPartitions& message, bool sends);

}  // namespace dunnage::mpi
