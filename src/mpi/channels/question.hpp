// A message by which a receiver finds out which of its receives gets which message of a channel
// (transport/gpu/channel.hpp).
#pragma once

#include <chrono>
#include <memory>

#include "memory/buffer.hpp"
#include "mpi/channels/out_channel.hpp"

namespace dunnage::mpi {

/// How a message was sent: not at all; or the program may take it for sent; or the request of the
/// program is under way, until question_ended().
enum class Asked { no, sent, under_way };
/// Sends a message, which the channel has counted, as a synchronous message of the MPI with a copy
/// of the data. So the buffer is the program's at once. Returns Asked::no if that cannot be done.
/// `message`: its number. `nonblocking`: the program's call begins a request. Waits some
/// microseconds for the answer to one of the first questions.
///
/// The MPI moves short messages without further calls of the sender, so the program may take a
/// short message for sent. For a long one it may not: it may never call the MPI again.
Asked ask_by_mpi(const std::shared_ptr<OutChannel>& channel, std::uint64_t message, const memory::Buffer& buffer,
                 int dest, int tag, MPI_Comm comm, bool nonblocking);
/// A request waits for its question no longer than that. The plain MPI may send such a message
/// before its receive has begun, and a program may rely on it.
inline constexpr std::chrono::milliseconds most_for_answer{100};
/// Whether a message that is `under_way` has been matched, or has waited until then. After some
/// waits of that kind this process sends no long questions any more. Lets the MPI move it.
bool question_ended(const OutChannel& channel, std::uint64_t message, std::chrono::steady_clock::time_point until);

}  // namespace dunnage::mpi
