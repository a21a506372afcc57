// Whether a message that comes may be an announcement in place of the data (transport/way.hpp).
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Whether announcements may come to this process at all. Costs one load.
inline bool announcements_possible() {
  return process->tickets_from.load(std::memory_order_relaxed) != std::numeric_limits<std::int64_t>::max();
}
/// Whether a receive with room for so many bytes may meet a ticket, or a send of as many bytes may
/// have a ticket's length.
inline bool tickets_concern(std::int64_t bytes) {
  return bytes >= process->tickets_from.load(std::memory_order_relaxed);
}
/// The MPI has truncated a message, perhaps a ticket. If the MPI tells the lengths of truncated
/// messages, receives with room for less than a ticket are looked at from now on.
void look_at_short_receives();
/// For calls that nothing of ours is behind. Returns `rc`, what the MPI returned.
inline int looked_at(int rc) {
  if (rc != MPI_SUCCESS) [[unlikely]]
    if (rc == MPI_ERR_TRUNCATE || rc == MPI_ERR_IN_STATUS) look_at_short_receives();
  return rc;
}
/// Whether a message may begin with a token.
inline bool token_expected() {
  return process->tokens_to_self.load(std::memory_order_relaxed) != 0 ||
         (process->world && process->world->tokens.expected());
}
/// Whether a message of that length may be an announcement.
inline bool may_be_announcement(std::int64_t bytes) {
  return transport::ticket_length(bytes) || (transport::token_length(bytes) && token_expected());
}

/// Counts a message in host memory, and stops the use of tokens if looking at every receive costs
/// more than a hundredth of the time and more than tokens have saved.
void weigh_tokens();
inline void see_host_message() {
  if (process->tickets_from.load(std::memory_order_relaxed) <= transport::token_size) weigh_tokens();
}

/// Lets the MPI move what is under way.
void let_mpi_progress();
/// Lets in ranks of this host that have asked. Everything that receives something large calls it.
inline void answer_letters() {
  if (process->world) process->world->answer();
}

}  // namespace dunnage::mpi
