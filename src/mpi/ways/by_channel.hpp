// Sends whose receiver waits for them by a channel (mpi/channels).
#pragma once

#include <chrono>
#include <optional>

#include "device/looks.hpp"
#include "mpi/channels/question.hpp"
#include "mpi/channels/streams.hpp"
#include "mpi/ways/send_call.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

/// A message that its receiver waits for by a channel. It must be announced, whatever happens.
struct ByChannel {
  OutChannel* channel;
  OutLine* line;  // null if the message is a question (mpi/channels/question.hpp)
  std::uint64_t exchange;
  bool rung;                                      // the receiver has been told
  std::shared_ptr<Streams> streams;               // which keep the channel
  std::chrono::steady_clock::time_point until{};  // of a question that is under way: when it ends at the latest

  /// Announces the data that the line has taken, or those of a call. Returns an MPI error code.
  int announce(Hook hook) const;
  int announce(const SendCall& call) const;
  /// Whether the buffer is the program's again.
  bool ended() const {
    if (line) return line->ended(exchange);
    return until == decltype(until){} || question_ended(*channel, message_of(exchange), until);
  }
  void prefetch() const {
    if (line) line->prefetch();
  }
  void wait() const;
};

/// Sends the message of that number as a question (mpi/channels/question.hpp).
using Ask = base::FunctionRef<Asked(const std::shared_ptr<OutChannel>&, std::uint64_t message)>;
/// Counts a message that is about to be sent, for its channel if it has one. `take` has a line take
/// its buffer, and returns an MPI error code. `ask` is called if the channel wants a question.
/// Returns nothing if the MPI is to carry the message; then `stamp` tells of the channel.
std::optional<ByChannel> by_channel(const std::shared_ptr<Streams>& streams, int dest, int tag,
                                    transport::ChannelStamp& stamp, base::FunctionRef<int(OutLine&)> take, Ask ask);
/// Likewise for a call. `refused`: an MPI error code, if the MPI refuses the call; the error
/// handler has then been called. `span`: how long the buffer is surely not freed.
std::optional<ByChannel> by_channel(const SendCall& call, transport::ChannelStamp& stamp, int& refused,
                                    device::Looks::Span span = device::Looks::Span::call);

/// Before a message is announced that has no channel yet: it may get one.
void learn(const std::shared_ptr<Streams>& streams, int dest, int tag, transport::Outbound& message);

/// For a message that the MPI is about to send in a call of its own, and whose buffer may change
/// meanwhile: if its receiver waits for it by a channel, sends a copy. Returns to whom the MPI is
/// to send: `call.dest`, or nobody. `error`: an MPI error code, whose handler has been called.
int dest_by_mpi(const SendCall& call, int& error);

}  // namespace dunnage::mpi
